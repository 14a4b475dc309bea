"""Constraint rows: contacts, joint limits, drives, force elements, friction against rolling."""
