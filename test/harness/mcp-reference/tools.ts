/** The reference server's tools, under the names that the conformance suite calls. */
import { setTimeout as pause } from "node:timers/promises";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SetLevelRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { DEFAULTS_FORM, ENUMS_FORM, NESTED_SCHEMA, PNG, USER_FORM, WAV } from "./content.ts";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Arguments = Readonly<Record<string, unknown>>;

interface Tool {
  readonly inputSchema?: { readonly type: "object"; readonly [keyword: string]: unknown };
  readonly run: (extra: Extra, given: Arguments) => Promise<CallToolResult> | CallToolResult;
}

const STEP_MS = 50;
const text = (value: string): CallToolResult => ({ content: [{ type: "text", text: value }] });
const image = { type: "image" as const, data: PNG, mimeType: "image/png" };
const oneText = (name: string) => ({
  type: "object" as const,
  properties: { [name]: { type: "string" } },
  required: [name],
});

async function elicit(extra: Extra, message: string, requestedSchema: object): Promise<string> {
  const request = { method: "elicitation/create", params: { message, requestedSchema } } as ServerRequest;
  const { action, content } = await extra.sendRequest(request, ElicitResultSchema);
  return `action=${action}, content=${JSON.stringify(content ?? {})}`;
}

const TOOLS: Readonly<Record<string, Tool>> = {
  test_simple_text: { run: () => text("This is a simple text response for testing.") },
  test_image_content: { run: () => ({ content: [image] }) },
  test_audio_content: { run: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }) },
  test_embedded_resource: {
    run: () => ({
      content: [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          },
        },
      ],
    }),
  },
  test_multiple_content_types: {
    run: () => ({
      content: [
        { type: "text", text: "Multiple content types test:" },
        image,
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  },
  test_tool_with_logging: {
    run: async (extra) => {
      for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
        await extra.sendNotification({ method: "notifications/message", params: { level: "info", data } });
        await pause(STEP_MS);
      }
      return text("logged");
    },
  },
  test_tool_with_progress: {
    run: async (extra) => {
      const progressToken = extra._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        const params = { progressToken: progressToken ?? 0, progress, total: 100 };
        if (progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params });
        await pause(STEP_MS);
      }
      return text("progressed");
    },
  },
  test_error_handling: {
    run: () => ({ isError: true, ...text("This tool intentionally returns an error for testing") }),
  },
  test_reconnection: {
    // The stream ends before the result is ready, so the client has to resume it.
    run: async (extra) => {
      extra.closeSSEStream?.();
      await pause(STEP_MS);
      return text("reconnected");
    },
  },
  test_sampling: {
    inputSchema: oneText("prompt"),
    run: async (extra, given) => {
      const content = { type: "text" as const, text: String(given["prompt"]) };
      const params = { messages: [{ role: "user" as const, content }], maxTokens: 100 };
      const answer = await extra.sendRequest({ method: "sampling/createMessage", params }, CreateMessageResultSchema);
      return text(`LLM response: ${answer.content.type === "text" ? answer.content.text : ""}`);
    },
  },
  test_elicitation: {
    inputSchema: oneText("message"),
    run: async (extra, given) => text(`User response: <${await elicit(extra, String(given["message"]), USER_FORM)}>`),
  },
  test_elicitation_sep1034_defaults: {
    run: async (extra) => text(`Elicitation completed: ${await elicit(extra, "defaults", DEFAULTS_FORM)}`),
  },
  test_elicitation_sep1330_enums: {
    run: async (extra) => text(`Elicitation completed: ${await elicit(extra, "enums", ENUMS_FORM)}`),
  },
  json_schema_2020_12_tool: { inputSchema: NESTED_SCHEMA, run: () => text("valid") },
};

export function registerTools(server: Server): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([name, tool]) => ({
      name,
      description: `The tool ${name}`,
      inputSchema: tool.inputSchema ?? { type: "object" as const, properties: {} },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS[params.name];
    if (tool === undefined) return { isError: true, ...text(`there is no tool ${params.name}`) };
    return await tool.run(extra, params.arguments ?? {});
  });
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
}
