import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Records } from "../../data/api.ts";
import { sessionQuery } from "../../data/session.ts";
import { explainHealth } from "../../explain/explain-health.ts";
import { SECRET_VARIABLE } from "../../forms/keys/call-examples.ts";
import { commonText } from "../../messages/common.ts";
import { portalTexts } from "../../messages/en/portal.ts";
import { texts } from "../../messages/texts.ts";
import { useNow } from "../../time/use-clock.tsx";
import { useZone } from "../../time/zone-context.tsx";
import { Code } from "../../ui/copy.tsx";
import { formatText } from "../../ui/format.ts";
import { Facts, Row } from "../../ui/layout.tsx";
import { ROUTE_OF_KIND } from "./guide-routes.ts";
import { priceText } from "./model-price.ts";
import { ROUTE_EXAMPLES } from "./route-examples.ts";

const text = texts("portal", portalTexts);
const MINUTE_MS = 60_000;

/** What a model costs, its state, and a line that calls it. */
export function ModelPanel({ model }: { readonly model: Records["Model"] }) {
  const { model_name: name, model_type: kind, description, enabled, health_status: status, maintenance_until } = model;
  const nowMs = useNow(MINUTE_MS);
  const { zone } = useZone();
  const session = useQuery(sessionQuery);
  const health = explainHealth({ status, consecutive_failures: 0, maintenance_until }, zone, nowMs);
  const baseUrl = session.data?.proxy_base_url ?? "https://gateway.example";
  return (
    <>
      <Facts
        facts={[
          [text("price"), priceText(model) ?? text("noPrice")],
          [text("state"), enabled ? health.sentence : text("off")],
          [text("about"), formatText(description)],
        ]}
      />
      <h3>{text("guideLink")}</h3>
      <p>{text("keyHintNone", { variable: SECRET_VARIABLE })}</p>
      <Code
        text={ROUTE_EXAMPLES[ROUTE_OF_KIND[kind]].curl({ baseUrl, secret: null, model: name })}
        label={text("copy")}
        doneLabel={commonText("copied")}
      />
      <Row>
        <Link to="/portal/guide" search={{ model: name }}>
          {text("otherCode")}
        </Link>
        {kind === "chat" && (
          <Link to="/playground" search={{ model: name }}>
            {text("tryModel")}
          </Link>
        )}
      </Row>
    </>
  );
}
