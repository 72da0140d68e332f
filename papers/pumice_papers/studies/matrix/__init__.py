"""The matrix: PEN, SFWS and AERO alone and together."""
