/**
 * A model server on loopback in the four dialects that coding agents speak. It follows a script: its first turns call
 * tools, every later one answers in words. Which of some words it was sent is kept. Other users of the machine find its
 * port, and where an agent is told its address on a command line the path as well, so only what holds the words of the
 * task moves the script on.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { present } from '../../protocol/encoding/present.ts'

const BODY_BYTES_MAX = 16 * 1024 * 1024
/** Bodies under way at one time; what comes beyond it is not read. */
const BODIES_BYTES_MAX = 64 * 1024 * 1024
const CONNECTIONS_MAX = 64
export const ANSWER = 'The sum is 6.'

export type RecordingModel = {
  url: string
  /** Which of the words that it listens for stood in a request for an answer. */
  heard: Set<string>
  /** Names of the tools that were offered. */
  offered: Set<string>
  /** Requests of the story of the task, the longest of which holds the whole of it, and the calls they were answered with. */
  seen: { requests: number; characters: number; calls: string[] }
  close(): Promise<void>
}

/** A tool of codex stands in a namespace. */
export type ToolCall = { name: string; namespace?: string; args: Record<string, unknown> }
/** `id` is another one each turn: agents take a call whose id they know for one that they have made. */
type Turn = { id: string } & ({ call: ToolCall } | { text: string })
type Dialect = (turn: Turn) => { event?: string; data: unknown }[]

const usage = { input_tokens: 1, output_tokens: 1 }

const messages: Dialect = turn => {
  const block =
    'call' in turn
      ? { type: 'tool_use', id: `call_${turn.id}`, name: turn.call.name, input: {} }
      : { type: 'text', text: '' }
  const delta =
    'call' in turn
      ? { type: 'input_json_delta', partial_json: JSON.stringify(turn.call.args) }
      : { type: 'text_delta', text: turn.text }
  const message = {
    id: `m_${turn.id}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: [],
    usage,
  }
  const stop = { stop_reason: 'call' in turn ? 'tool_use' : 'end_turn', stop_sequence: null }
  return [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, usage },
    { type: 'message_stop' },
  ].map(data => ({ event: data.type, data }))
}

const responses: Dialect = turn => {
  const item =
    'call' in turn
      ? {
          type: 'function_call',
          id: `f_${turn.id}`,
          call_id: `call_${turn.id}`,
          name: turn.call.name,
          ...present({ namespace: turn.call.namespace }),
          arguments: JSON.stringify(turn.call.args),
        }
      : {
          type: 'message',
          id: `m_${turn.id}`,
          role: 'assistant',
          content: [{ type: 'output_text', text: turn.text }],
        }
  const total = { ...usage, total_tokens: 2, input_tokens_details: null, output_tokens_details: null }
  return [
    { type: 'response.created', response: { id: `r_${turn.id}` } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: `r_${turn.id}`, usage: total } },
  ].map(data => ({ event: data.type, data }))
}

const chat: Dialect = turn => {
  const delta =
    'call' in turn
      ? {
          role: 'assistant',
          tool_calls: [
            {
              index: 0,
              id: `call_${turn.id}`,
              type: 'function',
              function: { name: turn.call.name, arguments: JSON.stringify(turn.call.args) },
            },
          ],
        }
      : { role: 'assistant', content: turn.text }
  const chunk = { id: `c_${turn.id}`, object: 'chat.completion.chunk', created: 1, model: 'scripted' }
  const reason = 'call' in turn ? 'tool_calls' : 'stop'
  return [
    { data: { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] } },
    { data: { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: reason }] } },
    { data: '[DONE]' },
  ]
}

const contents: Dialect = turn => {
  const part =
    'call' in turn ? { functionCall: { name: turn.call.name, args: turn.call.args } } : { text: turn.text }
  const candidate = { content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }
  return [{ data: { candidates: [candidate], usageMetadata: { totalTokenCount: 2 } } }]
}

const dialects: [RegExp, Dialect][] = [
  [/\/messages$/, messages],
  [/\/responses$/, responses],
  [/\/chat\/completions$/, chat],
  [/:(stream)?[gG]enerateContent$/, contents],
]

/** The next call of a story, by the request and the tools that it offers; undefined where it ends in words. */
export type NextCall = (request: string, offered: readonly string[]) => ToolCall | undefined

/** What it listens for, and the calls that it makes in the story of the task, one a turn. */
export type Script = { task: string; words: readonly string[]; calls: readonly ToolCall[] | NextCall }

export async function startRecordingModel(script: Script): Promise<RecordingModel> {
  const model = {
    heard: new Set<string>(),
    offered: new Set<string>(),
    seen: { requests: 0, characters: 0, calls: [] as string[] },
  }
  const secret = `/${randomBytes(16).toString('hex')}`
  const bodies = { bytes: 0 }
  const next = nextOf(script.calls)
  const turnFor = (body: string): Turn => {
    const offered = toolsIn(body)
    for (const name of offered) model.offered.add(name)
    for (const word of [script.task, ...script.words]) if (body.includes(word)) model.heard.add(word)
    const words = { id: randomBytes(6).toString('hex'), text: ANSWER }
    if (!body.includes(script.task)) return words
    model.seen.requests++
    model.seen.characters = Math.max(model.seen.characters, body.length)
    const call = next(body, offered)
    if (call === undefined) return words
    model.seen.calls.push(call.name)
    return { id: words.id, call }
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = new URL(request.url ?? '/', 'http://model').pathname
    if (!path.startsWith(`${secret}/`)) return void response.writeHead(404, { connection: 'close' }).end()
    const body = await bodyOf(request, bodies)
    const dialect = dialects.find(([pattern]) => pattern.test(path))?.[1]
    if (dialect === undefined || request.method !== 'POST') return sendJson(response, other(path))
    sendEvents(response, dialect(turnFor(body)))
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  server.maxConnections = CONNECTIONS_MAX
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    ...model,
    url: `http://127.0.0.1:${port}${secret}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function nextOf(calls: Script['calls']): NextCall {
  let turns = 0
  return typeof calls === 'function' ? calls : () => calls[turns++]
}

/** What a client asks beside answers: models, tokens. */
const other = (path: string): unknown =>
  path.includes('count')
    ? { input_tokens: 1, totalTokens: 1 }
    : { object: 'list', data: [{ id: 'scripted', object: 'model' }] }

function toolsIn(body: string): string[] {
  const { tools = [] } = JSON.parse(body) as { tools?: Record<string, unknown>[] }
  return tools.flatMap(tool => {
    const declared = (tool['functionDeclarations'] ?? tool['tools'] ?? [tool]) as Record<string, unknown>[]
    return declared.map(one =>
      String(one['name'] ?? (one['function'] as { name?: string })?.name ?? one['type']),
    )
  })
}

async function bodyOf(request: IncomingMessage, all: { bytes: number }): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  try {
    for await (const part of request) {
      const { length } = part as Buffer
      size += length
      all.bytes += length
      if (size > BODY_BYTES_MAX || all.bytes > BODIES_BYTES_MAX) throw new Error('the request is too large')
      parts.push(part as Buffer)
    }
    return Buffer.concat(parts).toString()
  } finally {
    all.bytes -= size
  }
}

function sendEvents(response: ServerResponse, events: ReturnType<Dialect>): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (const { event, data } of events) {
    const line = typeof data === 'string' ? data : JSON.stringify(data)
    response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${line}\n\n`)
  }
  response.end()
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
