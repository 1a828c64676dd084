"""Chats: messages to text by a template, and to ids.

``templates`` are compiled, ``json_list`` has messages that stay JSON, ``content_parts`` says what others may hold,
``rendering`` makes the text and tells who wrote it, ``encoding`` makes ids, masks and labels.
"""
