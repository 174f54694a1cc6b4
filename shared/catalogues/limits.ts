/**
 * The bounds of the gateway that no variable changes, in bytes, ms, or whole numbers. The modules that hold to a bound read it here;
 * infra/reference/limit-texts.ts says what each bounds. Bounds that a variable sets are with the variables.
 */
import { AMOUNT_MAX } from "../money/amount.ts";

const MIB = 1024 * 1024;

/** Of these two the console knows the settings, so that they are not in the table alone. */
export const TOOL_TURNS_MAX = 8;
export const TOOL_TIME_MS = 30_000;

export const LIMITS = {
  jsonBodyMemory: 64 * MIB,
  bodySilence: 30_000,
  bodyTime: 300_000,
  guardrailsScan: 64 * MIB,
  examinedBody: 16 * 1024,
  smallBody: 64 * 1024,
  bodyMemory: 64 * MIB,
  tenantBodyMemory: 32 * MIB,
  lineMemory: 16 * MIB,
  tenantLineMemory: 8 * MIB,
  answerMemory: 32 * MIB,
  cacheMemory: 16 * MIB,
  cachedAnswer: 512 * 1024,
  unsavedObjects: 4 * MIB,
  tenantUnsavedObjects: 512 * 1024,
  realtimeMessage: 16 * MIB,
  realtimeBacklog: 4 * MIB,
  realtimeSilence: 120_000,
  realtimeResponses: 16,
  realtimeClientMessages: 100,
  realtimeUpstreamMessages: 1_000,
  realtimeBurst: 5_000,
  responsesSilence: 600_000,
  responsesKept: 8 * MIB,
  responsesMemory: 32 * MIB,
  tenantResponsesMemory: 16 * MIB,
  tenantResponsesSockets: 128,
  queuedInCell: 20_000,
  headroomFrom: 40,
  toolsOfRequest: 128,
  toolsAtOnce: 32,
  toolTurns: TOOL_TURNS_MAX,
  toolTime: TOOL_TIME_MS,
  toolDiscovery: 10_000,
  toolReply: 4 * MIB,
  toolText: 16_000,
  spillBytes: 256 * MIB,
  spillSegments: 1024,
  deadLetters: 1000,
  deadLetterBytes: 4 * MIB,
  waitingAlerts: 1000,
  alertChannels: 20,
  amount: AMOUNT_MAX,
  usersKeys: 300,
  fileBytes: 200_000_000,
  fileLines: 50_000,
  filesOfTenantBytes: 2_000_000_000,
  filesOfTenant: 10_000,
  openBatches: 50,
  endedBatches: 1000,
  fileCalls: 32,
  tenantFileCalls: 4,
  batchLineBytes: 4 * MIB,
  batchAnswerBytes: 8 * MIB,
  batchCustomIdChars: 512,
  listRows: 100,
  listRowsMost: 1000,
} as const;
