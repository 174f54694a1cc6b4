/** The health check of the images: `node infra/containers/health.ts <url>...`. Exit code 0 when every address answers 200 in time. */

const WITHIN_MS = 4_000;

const answers = await Promise.allSettled(
  process.argv.slice(2).map(async (url) => {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(WITHIN_MS) });
    if (status !== 200) throw new Error(`${url} answers ${status}`);
  }),
);
const failed = answers.filter((answer) => answer.status === "rejected");
for (const { reason } of failed) process.stderr.write(`${reason instanceof Error ? reason.message : String(reason)}\n`);
process.exit(answers.length > 0 && failed.length === 0 ? 0 : 1);
