"""What surrounds the sdk's routes: strict JSON, exact numbers, and protocol 0.3 where the sdk deviates from it."""
