"""SFWS (GLSVLSI'24): sub-block first writing."""
