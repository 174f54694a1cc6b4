import { useState } from "react";
import { guardrailsPolicyBody } from "../../../shared/schema/tenant-policy.ts";
import { answerValue, api, type Records } from "../../data/api.ts";
import type { FieldValues } from "../../forms/record/drafts.ts";
import { complain } from "../../forms/record/use-announced-write.ts";
import { tenantTexts } from "../../messages/en/tenant.ts";
import { texts } from "../../messages/texts.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/fields.tsx";
import { Facts, Row, Stack } from "../../ui/layout.tsx";
import { Notice } from "../../ui/states.tsx";

const text = texts("tenant", tenantTexts);
type Verdict = Records["GuardrailsVerdict"];

/** Tries the policy of a form on a text, whether it is saved or not. */
export function GuardrailsTrial({ policy }: { readonly policy: FieldValues }) {
  const [tried, setTried] = useState("");
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const [isBusy, setBusy] = useState(false);
  const parsed = guardrailsPolicyBody.safeParse(policy);
  const run = async (): Promise<void> => {
    if (!parsed.success) return;
    setBusy(true);
    try {
      setVerdict(
        answerValue(await api.POST("/api/v1/guardrails/test", { body: { text: tried, policy: parsed.data } })),
      );
    } catch (error) {
      complain(text("trialFailed"), error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack>
      <h3>{text("trial")}</h3>
      <TextArea
        label={text("trialText")}
        hint={text("trialNote")}
        dir="auto"
        value={tried}
        onChange={(event) => {
          setTried(event.target.value);
          setVerdict(null);
        }}
      />
      <Row>
        <Button writes isBusy={isBusy} disabled={tried === "" || !parsed.success} onClick={() => void run()}>
          {text("trialRun")}
        </Button>
      </Row>
      {verdict !== null && <VerdictFacts verdict={verdict} />}
    </Stack>
  );
}

function VerdictFacts({ verdict }: { readonly verdict: Verdict }) {
  const { matches, input, output, redacted, harm } = verdict;
  const what = [...new Set(matches.map(({ scanner, label }) => `${scanner}: ${label}`))].join(", ");
  return (
    <>
      <Facts
        facts={[
          [text("trialInput"), text(`trial_${input}`)],
          [text("trialOutput"), text(`trial_${output}`)],
          [text("trialRedacted"), <bdi key="left">{redacted}</bdi>],
        ]}
      />
      <Notice tone={matches.length > 0 ? "warn" : "good"}>
        {matches.length > 0 ? text("trialMatches", { count: matches.length, what }) : text("trialNothing")}
        {harm === "not_run" && <p>{text("trialHarm")}</p>}
      </Notice>
    </>
  );
}
