/**
 * A cell whose ledger has little room, so that a test can fill it with requests (see test/objects/small-ledger/worker.ts).
 */
import type { LogLimits } from "../../edge/domain/ledger/ledger-log.ts";

export const FULL_CELL = "full";

export const SMALL_LIMITS: LogLimits = { maxBytes: 48 * 1024, maxSegments: 2 };
