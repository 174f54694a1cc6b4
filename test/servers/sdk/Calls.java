import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.errors.OpenAIException;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Calls with OpenAI's SDK. Prints how each ended, as JSON: its text, or the status of its error. */
public class Calls {
  private static final OpenAIClient CLIENT =
      OpenAIOkHttpClient.builder()
          .baseUrl(System.getenv("GATEWAY_URL") + "/v1")
          .apiKey(System.getenv("GATEWAY_KEY"))
          .build();

  private static String text(JsonNode call) {
    var params =
        ChatCompletionCreateParams.builder()
            .model(call.get("model").asText())
            .addUserMessage(call.get("text").asText())
            .build();
    var completions = CLIENT.chat().completions();
    if (!call.get("stream").asBoolean())
      return completions.create(params).choices().get(0).message().content().orElse("");
    try (var stream = completions.createStreaming(params)) {
      return stream.stream()
          .flatMap(chunk -> chunk.choices().stream())
          .map(choice -> choice.delta().content().orElse(""))
          .collect(Collectors.joining());
    }
  }

  private static Map<String, Object> outcome(JsonNode call) {
    Map<String, Object> shown = new HashMap<>();
    try {
      shown.put("text", text(call));
    } catch (OpenAIServiceException error) {
      shown.put("status", error.statusCode() >= 400 ? error.statusCode() : null);
    } catch (OpenAIException error) {
      shown.put("status", null);
    }
    return shown;
  }

  public static void main(String[] args) throws Exception {
    var mapper = new ObjectMapper();
    List<Map<String, Object>> outcomes = new ArrayList<>();
    for (var call : mapper.readTree(System.getenv("GATEWAY_CALLS"))) outcomes.add(outcome(call));
    System.out.println(mapper.writeValueAsString(outcomes));
    System.exit(0);
  }
}
