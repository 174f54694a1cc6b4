/** The routes of the guide, in their order, and which of them is usual for a type of model. Pure. */
import type { MODEL_TYPES } from "../../../shared/fields/model-fields.ts";

export const GUIDE_ROUTES = [
  "chat",
  "responses",
  "messages",
  "embeddings",
  "rerank",
  "images",
  "speech",
  "transcription",
  "realtime",
  "batches",
  "files",
  "mcp",
] as const;
export type GuideRoute = (typeof GUIDE_ROUTES)[number];

export type ModelKind = (typeof MODEL_TYPES)[number];

/** Where a model of a type is called first. */
export const ROUTE_OF_KIND = {
  chat: "chat",
  embedding: "embeddings",
  audio_transcription: "transcription",
  audio_speech: "speech",
  image: "images",
} as const satisfies Record<ModelKind, GuideRoute>;
