"""Intermediate frames between the landed log and the marts, each a pure function of frames."""
