"""Charts as SVG: marks, scales, drawing and sanitizing."""
