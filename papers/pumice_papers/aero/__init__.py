"""AERO (ASPLOS'24): erase schemes that adapt."""
