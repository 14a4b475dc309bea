"""The impulse model of contact (Fontijne 3.4): the law of one collision, and many at once."""
