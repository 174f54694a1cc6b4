/**
 * The smallest call that proves that an upstream serves a model, by the model's type (docs/rules/health.md#probes).
 * Pure: it describes calls and makes none. There is no call for images, because drawing one costs too much; their
 * catalog is read instead.
 */
import { MODEL_TYPES } from "../../shared/fields/model-fields.ts";

export type ModelType = (typeof MODEL_TYPES)[number];

/** The path of a call, as a client of the data plane would name it, and its body: JSON, or a form with one file. */
export type ProbeCall =
  | {
      readonly path: string;
      readonly json: Readonly<Record<string, unknown>>;
      /** The body for an upstream that rejects the limit of the other one. */
      readonly otherLimit?: Readonly<Record<string, unknown>>;
    }
  | {
      readonly path: string;
      readonly fields: Readonly<Record<string, string>>;
      readonly file: Uint8Array<ArrayBuffer>;
    };

/** The least that every provider takes. */
const OUTPUT_TOKENS = 16;
const SAMPLES_PER_SEC = 8000;
const SILENCE_SECS = 0.1;
const BYTES_PER_SAMPLE = 2;
const HEADER_BYTES = 44;

/** The type in a model's row; a type that only a later version knows is checked like a chat model. */
export function modelTypeOf(text: string): ModelType {
  return MODEL_TYPES.find((type) => type === text) ?? "chat";
}

/** The call for a model of this type; null for a type that is looked up in the catalog. */
export function probeCall(type: ModelType, upstreamModel: string, dialect = "openai"): ProbeCall | null {
  const chat = { model: upstreamModel, messages: [{ role: "user", content: "ping" }] };
  if (dialect === "anthropic")
    return type === "chat" ? { path: "/v1/messages", json: { ...chat, max_tokens: OUTPUT_TOKENS } } : null;
  switch (type) {
    case "chat":
      return {
        path: "/v1/chat/completions",
        json: { ...chat, max_tokens: OUTPUT_TOKENS },
        otherLimit: { ...chat, max_completion_tokens: OUTPUT_TOKENS },
      };
    case "embedding":
      return { path: "/v1/embeddings", json: { model: upstreamModel, input: "ping" } };
    case "audio_speech":
      return { path: "/v1/audio/speech", json: { model: upstreamModel, input: ".", voice: "alloy" } };
    case "audio_transcription":
      return { path: "/v1/audio/transcriptions", fields: { model: upstreamModel }, file: silentAudio() };
    case "image":
      return null;
    default:
      return type satisfies never;
  }
}

/** A tenth of a second of silence: WAV, 8 kHz, 16 bits, mono. */
export function silentAudio(): Uint8Array<ArrayBuffer> {
  const dataBytes = SAMPLES_PER_SEC * SILENCE_SECS * BYTES_PER_SAMPLE;
  const wav = new DataView(new ArrayBuffer(HEADER_BYTES + dataBytes));
  const text = (at: number, word: string): void => {
    for (const [index, byte] of new TextEncoder().encode(word).entries()) wav.setUint8(at + index, byte);
  };
  text(0, "RIFF");
  wav.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  text(8, "WAVEfmt ");
  wav.setUint32(16, 16, true);
  wav.setUint16(20, 1, true); // PCM
  wav.setUint16(22, 1, true); // channels
  wav.setUint32(24, SAMPLES_PER_SEC, true);
  wav.setUint32(28, SAMPLES_PER_SEC * BYTES_PER_SAMPLE, true);
  wav.setUint16(32, BYTES_PER_SAMPLE, true);
  wav.setUint16(34, BYTES_PER_SAMPLE * 8, true);
  text(36, "data");
  wav.setUint32(40, dataBytes, true);
  return new Uint8Array(wav.buffer);
}
