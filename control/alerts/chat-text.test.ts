import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chatCode, chatText } from "./chat-text.ts";

describe("text from outside in a chat", () => {
  it.each([
    ["<!channel>", "&lt;!channel&gt;"],
    ["<https://evil.example|your bank>", "&lt;https\u2236//evil\u2024example|your bank&gt;"],
    ["R&D <@U123>", "R&amp;D &lt;\uff20U123&gt;"],
    ["*bold* _italic_ ~gone~ `code`", "\u2217bold\u2217 \u02cditalic\u02cd \u223cgone\u223c \u02cbcode\u02cb"],
    ["__init__ and ** both **", "\u02cd\u02cdinit\u02cd\u02cd and \u2217\u2217 both \u2217\u2217"],
    ["https://evil.example/sign-in", "https\u2236//evil\u2024example/sign-in"],
    ["WWW.evil.example", "WWW\u2024evil\u2024example"],
    ["[sign in](//evil.example) ![](x) n[1-2]", "[sign in\uff3d(//evil\u2024example) ![\uff3d(x) n[1-2]"],
    ["sign in at login-evil.example/reset", "sign in at login-evil\u2024example/reset"],
    ["@channel @here", "\uff20channel \uff20here"],
    ["a\n*Issue:* `forged`", "a \u2217Issue:\u2217 \u02cbforged\u02cb"],
    ["\u001b[31mred\u202e", " [31mred "],
  ])("%j is shown and not followed", (text, shown) => {
    expect(chatText(text)).toBe(shown);
  });

  it("is unchanged where it is only text: names of models keep their characters", () => {
    for (const text of [
      "llama_3_70b: upstream answered 503",
      "4*4 tokens; request was already served",
      "größe_1~2",
      "gpt-4.1, v2.b. End",
    ])
      expect(chatText(text)).toBe(text);
  });

  it("cannot end its code marks", () => {
    expect(chatCode("model_health_down:a` <!here> `b_c*")).toBe("model_health_down:a\u02cb &lt;!here&gt; \u02cbb_c*");
  });

  it("never contains what the chat acts upon, whatever the text is", () => {
    const nasty = fc.string({
      unit: fc.constantFrom(
        "<",
        ">",
        "&",
        "*",
        "_",
        "~",
        "`",
        " ",
        "\n",
        "\u2028",
        "a",
        "1",
        "|",
        "!",
        "@",
        "é",
        "[",
        "]",
        ":",
        "/",
        "www.",
      ),
    });
    fc.assert(
      fc.property(nasty, (text) => {
        const shown = chatText(text);
        expect(shown.replace(/&(amp|lt|gt);/g, "")).not.toMatch(/[<>&`\n\u2028]/);
        expect(shown).not.toMatch(/:\/\/|\]\(|www\.|(^|[^\p{L}\p{N}])[*_~@]|[*_~]([^\p{L}\p{N}]|$)/u);
        expect(chatCode(text).replace(/&(amp|lt|gt);/g, "")).not.toMatch(/[<>&`\n\u2028]/);
      }),
    );
  });
});
