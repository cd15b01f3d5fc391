package scriptedapi

import "fmt"

func responsesResponse(turn *Turn, model, id string) response {
	usage := turn.Usage.orDefault()
	shell := func(status string, output []any) object {
		return object{
			"id": "resp_" + id, "object": "response", "model": model, "status": status, "output": output,
		}
	}
	r := response{events: []event{{"response.created", object{"response": shell("in_progress", []any{})}}}}
	output := []any{}
	for i := range turn.Reply {
		whole, events := responsesOutput(&turn.Reply[i], i, fmt.Sprintf("%s_%d", id, i))
		r.events = append(r.events, events...)
		output = append(output, whole)
	}
	r.whole = shell("completed", output)
	r.whole["usage"] = object{
		"input_tokens":          usage.Input,
		"input_tokens_details":  object{"cached_tokens": usage.CacheRead},
		"output_tokens":         usage.Output,
		"output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens":          usage.Input + usage.Output,
	}
	r.end = []event{{"response.completed", object{"response": r.whole}}}
	for i := range r.events {
		r.events[i].data["sequence_number"] = i
	}
	r.end[0].data["sequence_number"] = len(r.events)
	return r
}

// responsesOutput returns an output item and the events that stream it.
func responsesOutput(item *Item, index int, id string) (object, []event) {
	var whole, start object
	var deltas []event
	switch input := item.arguments().(type) {
	case string:
		whole = object{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": "call_" + id, "name": item.Call, "input": input, "status": "completed"}
		start = object{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": "call_" + id, "name": item.Call, "input": "", "status": "in_progress"}
		deltas = responsesDeltas("response.custom_tool_call_input.delta", input, index, "ctc_"+id)
	default:
		if item.Call == "" {
			return responsesMessage(item.Text, index, "msg_"+id)
		}
		arguments := string(encode(input))
		whole = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": item.Call, "arguments": arguments, "status": "completed"}
		start = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": item.Call, "arguments": "", "status": "in_progress"}
		deltas = responsesDeltas("response.function_call_arguments.delta", arguments, index, "fc_"+id)
	}
	if item.Namespace != "" {
		whole["namespace"], start["namespace"] = item.Namespace, item.Namespace
	}
	return whole, responsesItemEvents(start, whole, index, deltas)
}

func responsesMessage(text string, index int, id string) (object, []event) {
	start := object{"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []any{}}
	content := object{"type": "output_text", "text": text, "annotations": []any{}}
	whole := object{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": []any{content}}
	at := func(data object) object {
		data["item_id"], data["output_index"], data["content_index"] = id, index, 0
		return data
	}
	empty := object{"type": "output_text", "text": "", "annotations": []any{}}
	events := []event{{"response.content_part.added", at(object{"part": empty})}}
	for _, piece := range pieces(text) {
		events = append(events, event{"response.output_text.delta", at(object{"delta": piece})})
	}
	events = append(events,
		event{"response.output_text.done", at(object{"text": text})},
		event{"response.content_part.done", at(object{"part": content})})
	return whole, responsesItemEvents(start, whole, index, events)
}

func responsesDeltas(name, text string, index int, id string) []event {
	var events []event
	for _, piece := range pieces(text) {
		events = append(events, event{name, object{"item_id": id, "output_index": index, "delta": piece}})
	}
	return events
}

func responsesItemEvents(start, whole object, index int, inner []event) []event {
	events := []event{{"response.output_item.added", object{"output_index": index, "item": start}}}
	events = append(events, inner...)
	return append(events, event{"response.output_item.done", object{"output_index": index, "item": whole}})
}

func responsesFailure(kind, message string) object {
	return object{"error": object{"type": kind, "code": kind, "message": message}}
}

func responsesFailed(kind, message string) event {
	return event{"response.failed", object{"response": object{
		"object": "response", "status": "failed",
		"error": object{"code": kind, "message": message},
	}}}
}
