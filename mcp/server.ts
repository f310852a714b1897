/**
 * The MCP server: nine tools over the operations of a node, resources, prompts and notices. The only file that imports
 * the SDK, so that another generation of it can take this one's place here.
 */

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  InitializeRequestSchema,
  JSONRPCErrorResponseSchema,
  JSONRPCMessageSchema,
  JSONRPCNotificationSchema,
  JSONRPCRequestSchema,
  JSONRPCResultResponseSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  RootsListChangedNotificationSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type * as z from 'zod'
import { faultOf } from '../protocol/contract/fault.ts'
import { plainLine } from '../protocol/encoding/plain-text.ts'
import { present } from '../protocol/encoding/present.ts'
import type { AskUser } from './approval.ts'
import { channelMessage } from './channel.ts'
import { definitionOf } from './definitions.ts'
import { openFiles } from './files.ts'
import { instructions } from './instructions.ts'
import { type PromptRow, prompts } from './prompts.ts'
import { listResources, readerOf, resourceTemplates, STATUS_URI, threadUri } from './resources.ts'
import { runTool } from './run.ts'
import { type Judge, LineTransport } from './stdio.ts'
import type { NodeLink, Tool, ToolContext } from './tool.ts'
import { tools as allTools } from './tools/all.ts'
import { watch } from './watch.ts'

const PROGRESS_EVERY_MS = 5_000
/** As long as a tool may wait for anything. */
const USER_WAIT_MS = 45_000
const ROOTS_WAIT_MS = 5_000
const SUBSCRIPTIONS_MAX = 1_000
const RESOURCE_NOT_FOUND = -32002
const CHANNEL = 'notifications/claude/channel'

export const isCompiled: boolean = true
export { tools } from './tools/all.ts'

export type ServerOptions = {
  version: string
  /** Open tasks of contacts. */
  open?: number
  /** A command as this user's shell knows it. */
  command?: (line: string) => string
  tools?: readonly Tool[]
  readOnly?: boolean
  /** Folders of which files may be sent, besides those that the client opens. */
  folders?: readonly string[]
  /** Where the client started the server. */
  cwd?: string
}

type Given = Omit<ToolContext, 'fence' | 'signal' | 'askUser'>

/** A server with its own state; one for each transport. */
export function createServer(link: NodeLink, options: ServerOptions): Server {
  const tools = options.tools ?? allTools
  const server = new Server(
    { name: 'svc', title: 'svc: work with other agents', version: options.version },
    {
      capabilities: {
        tools: {},
        prompts: {},
        resources: { subscribe: true },
        logging: {},
        experimental: { 'claude/channel': {} },
      },
      instructions: instructions(tools, options.open ?? 0),
    },
  )
  const given = contextOf(server, link, options)
  serveTools(server, tools, given)
  serveResources(server, given)
  servePrompts(
    server,
    prompts.filter(prompt => prompt.needs.every(name => tools.some(tool => tool.name === name))),
  )
  notifyOf(server, link, name => tools.some(tool => tool.name === name))
  return server
}

function contextOf(server: Server, link: NodeLink, options: ServerOptions): Given {
  const { command = line => line, readOnly = false, folders = [], cwd = process.cwd() } = options
  const here = options.tools ?? allTools
  const absent = new Set(allTools.filter(tool => !here.includes(tool)).map(tool => tool.name))
  let dataDir: Promise<string> | undefined
  const files = openFiles({
    configured: folders,
    cwd,
    roots: rootsOf(server),
    dataDir: () => {
      dataDir ??= link.call('status').then(status => status.data_dir)
      dataDir.catch(() => {
        dataDir = undefined
      })
      return dataDir
    },
  })
  return { call: link.call, asked: new Map(), command, files, readOnly, absent }
}

/** The folders that the client opened, asked once and again whenever it says that they changed. */
function rootsOf(server: Server): () => Promise<readonly string[] | undefined> {
  let known: Promise<readonly string[]> | undefined
  server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
    known = undefined
  })
  return async () => {
    if (server.getClientCapabilities()?.roots === undefined) return undefined
    known ??= server.listRoots(undefined, { timeout: ROOTS_WAIT_MS }).then(
      ({ roots }) => roots.map(root => root.uri),
      () => [],
    )
    return known
  }
}

function serveTools(server: Server, tools: readonly Tool[], given: Given): void {
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(definitionOf) }))
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { name, arguments: args = {} } = request.params
    const tool = tools.find(row => row.name === name)
    if (tool === undefined)
      throw new McpError(
        ErrorCode.InvalidParams,
        `there is no tool ${name}; expected ${tools.map(row => row.name).join(', ')}`,
      )
    const token = extra._meta?.progressToken
    const progress = token === undefined ? undefined : startProgress(token, extra.sendNotification)
    try {
      const { signal } = extra
      return await runTool(tool, args, { ...given, signal, ...present({ askUser: userOf(server, signal) }) })
    } finally {
      clearInterval(progress)
    }
  })
}

function serveResources(server: Server, given: Given): void {
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: await listResources(given.call),
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }, { signal }) => {
    const reader = readerOf(uri)
    const tool = allTools.find(row => row.name === reader?.tool)
    if (reader === undefined || tool === undefined)
      throw new McpError(RESOURCE_NOT_FOUND, `there is no resource ${uri}`)
    const read = await runTool(tool, reader.args, { ...given, signal, readOnly: true })
    const text = read.content[0]?.text ?? ''
    if ('isError' in read) throw new McpError(RESOURCE_NOT_FOUND, text)
    return { contents: [{ uri, mimeType: 'application/json', text, ...present({ _meta: read._meta }) }] }
  })
}

function servePrompts(server: Server, offered: readonly PromptRow[]): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: offered.map(({ text: _, needs: __, ...row }) => ({ ...row, arguments: [...row.arguments] })),
  }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name, arguments: args = {} } }) => {
    const prompt = offered.find(row => row.name === name)
    if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `there is no prompt ${name}`)
    const missing = prompt.arguments.find(row => row.required && (args[row.name] ?? '') === '')
    if (missing !== undefined)
      throw new McpError(ErrorCode.InvalidParams, `${missing.name} is missing: ${missing.description}`)
    const content = { type: 'text' as const, text: prompt.text(args) }
    return { description: prompt.description, messages: [{ role: 'user' as const, content }] }
  })
}

/** Tells the client what comes from others: resources it subscribed to, its channel, and its log. */
function notifyOf(server: Server, link: NodeLink, has: (tool: string) => boolean): void {
  const subscribed = new Set<string>()
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    if (readerOf(uri) === undefined) throw new McpError(RESOURCE_NOT_FOUND, `there is no resource ${uri}`)
    if (subscribed.size >= SUBSCRIPTIONS_MAX)
      throw new McpError(ErrorCode.InvalidRequest, `at most ${SUBSCRIPTIONS_MAX} subscriptions are kept`)
    subscribed.add(uri)
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscribed.delete(uri)
    return {}
  })
  const tell = (sending: Promise<void>) => void sending.catch(() => {})
  const updated = (uri: string) => {
    if (subscribed.has(uri)) tell(server.sendResourceUpdated({ uri }))
  }
  server.oninitialized = () => {
    const stop = watch(link, {
      task(item) {
        updated(threadUri(item.interaction_id))
        const params = channelMessage(item, has)
        if (params !== undefined) tell(server.notification({ method: CHANNEL, params }))
      },
      status: () => updated(STATUS_URI),
      node: isThere =>
        tell(
          server.sendLoggingMessage({
            level: isThere ? 'info' : 'warning',
            logger: 'svc',
            data: isThere ? 'the node answers again' : 'the node does not answer',
          }),
        ),
    })
    server.onclose = stop
  }
}

type Notify = (notification: {
  method: 'notifications/progress'
  params: { progressToken: string | number; progress: number; message: string }
}) => Promise<void>

function startProgress(progressToken: string | number, notify: Notify): NodeJS.Timeout {
  let progress = 0
  const timer = setInterval(() => {
    progress += PROGRESS_EVERY_MS / 1000
    const params = { progressToken, progress, message: 'waiting' }
    notify({ method: 'notifications/progress', params }).catch(() => clearInterval(timer))
  }, PROGRESS_EVERY_MS)
  return timer
}

/** The user behind a client that declares elicitation; one who does not answer in time has said nothing. */
function userOf(server: Server, signal: AbortSignal): AskUser | undefined {
  if (server.getClientCapabilities()?.elicitation === undefined) return undefined
  return async (question, answers) => {
    const [names, titles] = [Object.keys(answers), Object.values(answers)]
    const decision = { type: 'string' as const, title: 'Your decision', enum: names, enumNames: titles }
    const requestedSchema = { type: 'object' as const, properties: { decision }, required: ['decision'] }
    const options = { timeout: USER_WAIT_MS, signal }
    const answer = await server
      .elicitInput({ message: question, requestedSchema }, options)
      .catch(() => undefined)
    const decided = answer?.action === 'accept' ? answer.content?.['decision'] : undefined
    return typeof decided === 'string' ? decided : undefined
  }
}

const FAULT_CHARACTERS_MAX = 300
const requestForms = new Map(
  [
    CallToolRequestSchema,
    GetPromptRequestSchema,
    InitializeRequestSchema,
    ListPromptsRequestSchema,
    ListResourcesRequestSchema,
    ListResourceTemplatesRequestSchema,
    ListToolsRequestSchema,
    ReadResourceRequestSchema,
    SetLevelRequestSchema,
    SubscribeRequestSchema,
    UnsubscribeRequestSchema,
  ].map(form => [form.shape.method.value as string, form] as const),
)

/** Why the SDK would not take a message, which it says nothing of, or only in the words of its own schemas. */
export const refusalOf: Judge = message => {
  const fault = (form: z.ZodType) => {
    const { error } = form.safeParse(message)
    return error && plainLine(faultOf(error, message, 'the message'), FAULT_CHARACTERS_MAX)
  }
  if (!JSONRPCMessageSchema.safeParse(message).success)
    return {
      code: ErrorCode.InvalidRequest,
      sentence: `expected a message of JSON-RPC 2.0; ${fault(messageForm(message))}`,
    }
  const { id, method = '' } = message as { id?: unknown; method?: string }
  const form = id === undefined ? undefined : requestForms.get(method)
  const sentence = form && fault(form)
  return sentence === undefined ? undefined : { code: ErrorCode.InvalidParams, sentence }
}

/** What a message was meant to be, by its members. */
function messageForm(message: unknown): z.ZodType {
  const members = Object(message) as object
  if ('result' in members) return JSONRPCResultResponseSchema
  if ('error' in members) return JSONRPCErrorResponseSchema
  return 'id' in members ? JSONRPCRequestSchema : JSONRPCNotificationSchema
}

/**
 * Serves one server on this process's stdio until the client is gone; resolves with the reason. Nothing but protocol
 * goes to stdout.
 */
export async function serveStdio(create: () => Server): Promise<string> {
  console.log = console.info = console.debug = console.error
  const server = create()
  server.onerror = error => console.error(`svc: ${error.message}`)
  const { promise, resolve } = Promise.withResolvers<string>()
  process.stdin.on('end', () => resolve('its client closed standard input'))
  process.stdin.on('close', () => resolve('its client closed standard input'))
  process.stdin.on('error', error => resolve(`standard input failed: ${error.message}`))
  process.stdout.on('error', () => resolve('its client does not read standard output any more'))
  const parent = process.ppid
  const look = setInterval(() => {
    if (process.ppid !== parent) resolve('the program that started it is gone')
  }, 2_000)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => resolve(`it received ${signal}`))
  await server.connect(new LineTransport(process.stdin, process.stdout, refusalOf))
  const reason = await promise
  clearInterval(look)
  await server.close().catch(() => {})
  return reason
}
