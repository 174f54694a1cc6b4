/** Benchmarks: their plans, what was measured, and the tenant that has to be removed (docs/rules/benchmarks.md#tenant). */
import { boolean, jsonb, pgTable, text, uuid } from "drizzle-orm/pg-core";
import type { BenchmarkPoint, BenchmarkResult, StartBenchmark } from "../../../shared/schema/benchmark.ts";
import { idColumn, instant, timeColumns } from "../../db/schema/columns.ts";

export const benchmarks = pgTable("benchmarks", {
  ...idColumn,
  started_by: text("started_by").notNull(),
  plan: jsonb("plan").$type<StartBenchmark>().notNull(),
  state: text("state").$type<"running" | "done" | "stopped" | "lost">().notNull(),
  points: jsonb("points").$type<readonly BenchmarkPoint[]>().notNull().default([]),
  result: jsonb("result").$type<BenchmarkResult>(),
  /** Null: it has been removed. */
  tenant_id: uuid("tenant_id"),
  /** When nobody runs it any more, however its process has ended. */
  deadline: instant("deadline").notNull(),
  stop_requested: boolean("stop_requested").notNull().default(false),
  ended_at: instant("ended_at"),
  ...timeColumns,
});

export type BenchmarkRow = typeof benchmarks.$inferSelect;
