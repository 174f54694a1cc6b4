/**
 * The words of a request's definitions that are not the client's own text: names of JSON Schema, and of the tools and answer
 * formats of the protocols (docs/rules/guardrails.md#where-it-looks). They are not text: a policy that bans one of them must
 * not make every schema unusable. Everything else in a definition is examined.
 */

const NAMES: ReadonlySet<string> = new Set(
  [
    // JSON Schema
    "$schema $id $ref $anchor $defs $comment $dynamicRef $dynamicAnchor $vocabulary definitions title description default",
    "examples type enum const allOf anyOf oneOf not if then else properties patternProperties additionalProperties",
    "propertyNames unevaluatedProperties required minProperties maxProperties dependentRequired dependentSchemas items",
    "dependencies prefixItems additionalItems unevaluatedItems contains minContains maxContains minItems maxItems",
    "uniqueItems multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern format",
    "contentEncoding contentMediaType contentSchema readOnly writeOnly deprecated nullable discriminator",
    // tools and answer formats
    "name strict schema json_schema function parameters input_schema custom grammar syntax definition verbosity",
  ].flatMap((words) => words.split(" ")),
);

const TYPES: ReadonlySet<string> = new Set(
  "string number integer boolean object array null function custom text grammar json_schema json_object".split(" "),
);

/** Whether the name of a member is a term of the protocol, and not its client's text. */
export function isDefinitionName(name: string): boolean {
  return NAMES.has(name);
}

/** Whether the value of a `type` is one that definitions have. */
export function isDefinitionType(type: string): boolean {
  return TYPES.has(type);
}
