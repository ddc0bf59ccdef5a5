"""Programs with the names and command lines of Arm's FVPs."""
