"""Measurements of postroad, side by side with RabbitMQ; every published figure comes from here. See ``__main__``."""
