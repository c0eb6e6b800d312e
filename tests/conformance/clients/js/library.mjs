// @a2a-js/sdk 1.3 in short words: messages made, answers and events read, a webhook served.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { Role, taskStateToJSON } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from "@a2a-js/sdk/client";

export const TOKEN = "a secret of the subscriber";
export const ENDED = new Set(["completed", "failed", "canceled", "rejected"]);
const TRANSPORTS = { JSONRPC: JsonRpcTransportFactory, "HTTP+JSON": RestTransportFactory };

/** The agent's card, cut down to the interfaces of one protocol version. */
export async function readCard(url, old) {
  const card = await new DefaultAgentCardResolver({ legacyCompat: { enabled: old } }).resolve(url);
  const version = old ? "0." : "1.";
  return { ...card, supportedInterfaces: card.supportedInterfaces.filter((face) => face.protocolVersion.startsWith(version)) };
}

export function connect(card, transport, old) {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new TRANSPORTS[transport]({ legacyCompat: { enabled: old } })],
    preferredTransports: [transport],
  });
  return new ClientFactory(options).createFromAgentCard(card);
}

/** A message to the agent. What `begin`s its id decides what the test agent does. */
export function saying({ text = "Hello.", begin = "any", task = "", wait = true, hook } = {}) {
  const part = { content: { $case: "text", value: text }, filename: "", mediaType: "text/plain" };
  const message = {
    messageId: `${begin}-${randomUUID()}`,
    role: Role.ROLE_USER,
    parts: [part],
    taskId: task,
    contextId: "",
    extensions: [],
    referenceTaskIds: [],
  };
  const taskPushNotificationConfig = hook && pushing({ url: hook });
  return { tenant: "", message, configuration: { acceptedOutputModes: [], returnImmediately: !wait, taskPushNotificationConfig } };
}

export function pushing({ id = "", task = "", url }) {
  return { tenant: "", id, taskId: task, url, token: TOKEN };
}

/** The state in the words of protocol 0.3; undefined where there is none. */
export function stateOf(told) {
  return told.status && taskStateToJSON(told.status.state).replace("TASK_STATE_", "").toLowerCase().replace("_", "-");
}

export function textOf(parts) {
  return parts.map((part) => (part.content.$case === "text" ? part.content.value : "")).join("");
}

export function turnsOf(task) {
  return task.history.filter((message) => message.role === Role.ROLE_USER).map((message) => textOf(message.parts));
}

/** A stream's events in short: what each is, of which task, and in which state. */
export async function* events(stream) {
  for await (const { payload } of stream) {
    yield { kind: payload.$case, task: payload.value.taskId ?? payload.value.id, state: stateOf(payload.value) };
  }
}

/** A webhook on this machine's loopback, with what came with the token, and how many came without. */
export async function webhook() {
  const hook = { posts: [], strangers: 0 };
  hook.server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    if (request.headers["x-a2a-notification-token"] === TOKEN) hook.posts.push(JSON.parse(body));
    else hook.strangers += 1;
    response.end();
  });
  await new Promise((ready) => hook.server.listen(0, "127.0.0.1", ready));
  hook.url = `http://127.0.0.1:${hook.server.address().port}/hook`;
  return hook;
}
