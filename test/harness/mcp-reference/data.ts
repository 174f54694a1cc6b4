/** The reference server's resources, prompts and completions, under the names that the conformance suite uses. */
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  McpError,
  type Prompt,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { PNG } from "./content.ts";

const RESOURCES = ["test://static-text", "test://static-binary", "test://watched-resource"];

const PROMPTS: readonly Prompt[] = [
  { name: "test_simple_prompt", description: "Simple" },
  {
    name: "test_prompt_with_arguments",
    description: "With arguments",
    arguments: ["arg1", "arg2"].map((name) => ({ name, description: name, required: true })),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "With a resource",
    arguments: [{ name: "resourceUri", description: "What to embed", required: true }],
  },
  { name: "test_prompt_with_image", description: "With an image" },
];

export function registerData(server: Server): void {
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: RESOURCES.map((uri) => ({ uri, name: uri, description: `The resource ${uri}` })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", description: "By id" }],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ({ contents: [contentOf(params.uri)] }));
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [...PROMPTS] }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => promptOf(params.name, params.arguments ?? {}));
  server.setRequestHandler(CompleteRequestSchema, () => ({
    completion: { values: ["paris", "park", "party"], total: 150, hasMore: false },
  }));
}

function contentOf(uri: string): ReadResourceResult["contents"][number] {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { uri, mimeType: "application/json", text };
  }
  switch (uri) {
    case "test://static-text":
      return { uri, mimeType: "text/plain", text: "This is the content of the static text resource." };
    case "test://static-binary":
      return { uri, mimeType: "image/png", blob: PNG };
    case "test://watched-resource":
      return { uri, mimeType: "text/plain", text: "watched" };
    default:
      throw new McpError(ErrorCode.InvalidParams, `there is no resource ${uri}`);
  }
}

function promptOf(name: string, given: Readonly<Record<string, string>>): GetPromptResult {
  const said = (text: string) => ({ role: "user" as const, content: { type: "text" as const, text } });
  switch (name) {
    case "test_simple_prompt":
      return { messages: [said("This is a simple prompt for testing.")] };
    case "test_prompt_with_arguments":
      return { messages: [said(`Prompt with arguments: arg1='${given["arg1"]}', arg2='${given["arg2"]}'`)] };
    case "test_prompt_with_embedded_resource": {
      const resource = {
        uri: given["resourceUri"] ?? "",
        mimeType: "text/plain",
        text: "Embedded resource content for testing.",
      };
      return {
        messages: [
          { role: "user", content: { type: "resource", resource } },
          said("Please process the embedded resource above."),
        ],
      };
    }
    case "test_prompt_with_image":
      return {
        messages: [
          { role: "user", content: { type: "image", data: PNG, mimeType: "image/png" } },
          said("Please analyze the image above."),
        ],
      };
    default:
      throw new McpError(ErrorCode.InvalidParams, `there is no prompt ${name}`);
  }
}
