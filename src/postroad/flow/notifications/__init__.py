"""Sends notifications: follows the journal, checks conditions, and hands what is due to the channels.

journal ─follower─▶ events ┐                    ┌▶ message to a service
conditions ─every minute──▶ digests ─tick─▶ sender ─▶ e-mail, webhook, Slack
"""
