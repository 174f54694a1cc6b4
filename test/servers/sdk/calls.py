"""Calls with OpenAI's and Anthropic's SDKs. Prints how each ended, as JSON: its text, or the status and code of its error."""

import json
import os

import anthropic
import openai

URL, KEY = os.environ["GATEWAY_URL"], os.environ["GATEWAY_KEY"]
openai_client = openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY)
anthropic_client = anthropic.Anthropic(base_url=URL, api_key=KEY)


def chat(call):
    messages = [{"role": "user", "content": call["text"]}]
    if not call["stream"]:
        done = openai_client.chat.completions.create(model=call["model"], messages=messages)
        return done.choices[0].message.content
    stream = openai_client.chat.completions.create(model=call["model"], messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


def message(call):
    messages = [{"role": "user", "content": call["text"]}]
    with anthropic_client.messages.stream(model=call["model"], messages=messages, max_tokens=64) as stream:
        return stream.get_final_text()


def outcome(call):
    try:
        return {"text": (message if call["vendor"] == "anthropic" else chat)(call)}
    except (openai.APIError, anthropic.APIError) as error:
        status = getattr(error, "status_code", 0)
        return {"status": status if status >= 400 else None}


print(json.dumps([outcome(call) for call in json.loads(os.environ["GATEWAY_CALLS"])]))
