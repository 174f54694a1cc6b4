/**
 * The smallest OpenAI-compatible server, which a job of the test cluster runs: health, and chat with and without a stream.
 * It listens where the port part of the job's script says.
 */
import { createServer } from "node:http";

const port = Number(process.env.GATEWAY_SERVING_PORT);
const job = process.env.SLURM_JOB_ID ?? "";

/** @param {string} content */
const chunk = (content) => ({
  id: `chat-${job}`,
  object: "chat.completion.chunk",
  created: 1,
  model: "test",
  choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
});

createServer((request, response) => {
  if (request.url === "/health") return void response.end("ok");
  let text = "";
  request.on("data", (part) => {
    text += part;
  });
  request.on("end", () => {
    if (request.url !== "/v1/chat/completions") return void response.writeHead(404).end();
    const { stream } = JSON.parse(text);
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    if (stream === true) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const word of ["job ", job]) response.write(`data: ${JSON.stringify(chunk(word))}\n\n`);
      response.write(`data: ${JSON.stringify({ ...chunk(""), choices: [], usage })}\n\n`);
      return void response.end("data: [DONE]\n\n");
    }
    const message = { role: "assistant", content: `job ${job}` };
    const choices = [{ index: 0, message, finish_reason: "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({ id: `chat-${job}`, object: "chat.completion", created: 1, model: "test", choices, usage }),
    );
  });
}).listen(port);
