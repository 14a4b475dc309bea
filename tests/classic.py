"""The classic mechanisms, and how many degrees of freedom each has."""

from kinemorph.scenes.robots import mechanisms

CLASSIC = [
    (mechanisms.four_bar, 1),
    (mechanisms.slider_crank, 1),
    (mechanisms.bennett, 1),
    (mechanisms.stewart, 6),
    (mechanisms.delta, 3),
    (mechanisms.two_arms, 8),
    (mechanisms.free_flyer, 2),
]
