/** The health check of the images: `node infra/containers/health.ts <url>...`. Exit code 0 when every address answers 200 in time. */
import { get } from "node:https";

const WITHIN_MS = 4_000;

const answers = await Promise.allSettled(
  process.argv.slice(2).map(async (url) => {
    const status = await statusOf(url);
    if (status !== 200) throw new Error(`${url} answers ${status}`);
  }),
);
const failed = answers.filter((answer) => answer.status === "rejected");
for (const { reason } of failed) process.stderr.write(`${reason instanceof Error ? reason.message : String(reason)}\n`);
process.exit(answers.length > 0 && failed.length === 0 ? 0 : 1);

/** With a certificate the data plane speaks TLS at the same address, and answers plain HTTP with an error that says so. */
async function statusOf(url: string): Promise<number> {
  const signal = AbortSignal.timeout(WITHIN_MS);
  const answer = await fetch(url, { signal });
  if (answer.status !== 400 || !(await answer.text()).includes('"https_required"')) return answer.status;
  return await new Promise((resolve, reject) => {
    // the certificate is for the name that clients use, and this container calls itself
    get(url.replace(/^http:/, "https:"), { rejectUnauthorized: false, signal }, (secure) => {
      secure.resume();
      resolve(secure.statusCode ?? 0);
    }).once("error", reject);
  });
}
