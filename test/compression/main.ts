/** `npm run compression:eval`: prints the table of docs/rules/compression.md#figures. */
import { evaluationTable, readTranscripts } from "./evaluate.ts";

const transcripts = readTranscripts();
process.stdout.write(`${transcripts.length} transcripts\n\n${await evaluationTable(transcripts)}\n`);
