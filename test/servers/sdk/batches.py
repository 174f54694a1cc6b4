"""Files and batches with OpenAI's SDK: one batch runs to its end, another one is cancelled. Prints what was seen, as JSON."""

import json
import os
import time

import openai

MODEL, SLOW_MODEL = os.environ["GATEWAY_MODEL"], os.environ["GATEWAY_SLOW_MODEL"]
client = openai.OpenAI(base_url=f"{os.environ['GATEWAY_URL']}/v1", api_key=os.environ["GATEWAY_KEY"])


def started(model, lines):
    body = {"model": model, "messages": [{"role": "user", "content": os.environ["GATEWAY_TEXT"]}]}
    text = "\n".join(
        json.dumps({"custom_id": f"line-{at}", "method": "POST", "url": "/v1/chat/completions", "body": body})
        for at in range(lines)
    )
    file = client.files.create(file=("in.jsonl", text.encode()), purpose="batch")
    return client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"job": "nightly"}
    )


def ended(batch, until=("completed", "failed", "expired", "cancelled")):
    while batch.status not in until:
        time.sleep(0.2)
        batch = client.batches.retrieve(batch.id)
    return batch


def seen(batch):
    ids = [batch.output_file_id, batch.error_file_id]
    lines = [json.loads(line) for id in ids if id for line in client.files.content(id).text.splitlines()]
    return {
        "status": batch.status,
        "counts": batch.request_counts.model_dump(),
        "metadata": batch.metadata,
        "texts": [one["response"]["body"]["choices"][0]["message"]["content"] for one in lines if one["response"]],
        "errors": sorted({one["error"]["code"] for one in lines if one["error"]}),
    }


done = ended(started(MODEL, 5))
running = ended(started(SLOW_MODEL, 20), until=("in_progress",))
client.batches.cancel(running.id)
cancelled = ended(running)
listed = [batch.id for batch in client.batches.list()]
names = {file.id: file.filename for file in client.files.list(purpose="batch")}
deleted = client.files.delete(done.input_file_id).deleted
print(
    json.dumps(
        {
            "done": seen(done),
            "cancelled": seen(cancelled),
            "listed": listed == [cancelled.id, done.id],
            "name": names[done.input_file_id],
            "deleted": deleted,
        }
    )
)
