/** The MCP server: nine tools over the operations of a node, resources, prompts and notices, in both eras of the protocol. */

import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { serveStdio as serveConnection } from '@modelcontextprotocol/server/stdio'
import { present } from '../protocol/encoding/present.ts'
import { type Era, type Roots, rootsBetweenRounds, rootsOf, userOf } from './client.ts'
import { definitionOf } from './definitions.ts'
import { type Files, openFiles } from './files.ts'
import { instructions } from './instructions.ts'
import { refusalOf } from './judge.ts'
import { delegationOf, knowsTasks, serveTasks, TASKS } from './mcp-tasks.ts'
import { notifyOf } from './notices.ts'
import { type PromptRow, prompts } from './prompts.ts'
import { listResources, readerOf, resourceTemplates } from './resources.ts'
import { InputNeeded, type Round, Rounds } from './rounds.ts'
import { runTool } from './run.ts'
import { LineTransport } from './stdio.ts'
import type { NodeLink, Tool, ToolContext } from './tool.ts'
import { tools as allTools } from './tools/all.ts'
import { taskDelegate } from './tools/task-delegate.ts'

const PROGRESS_EVERY_MS = 5_000

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

type Given = Omit<ToolContext, 'fence' | 'signal' | 'askUser' | 'files'>

/** One server of one client, in the era that the client opened with. */
type Serving = {
  server: Server
  era: Era
  tools: readonly Tool[]
  given: Given
  filesOf(roots: Roots): Files
  roots: Roots
}

/** A server with its own state; one for each transport. */
export function createServer(link: NodeLink, options: ServerOptions, era: Era = 'legacy'): Server {
  const tools = options.tools ?? allTools
  const has = (name: string) => tools.some(tool => tool.name === name)
  const hasTasks = era === 'modern' && has('task_delegate')
  const server = new Server(
    { name: 'svc', title: 'svc: work with other agents', version: options.version },
    {
      capabilities: {
        tools: {},
        prompts: {},
        resources: { subscribe: true },
        logging: {},
        experimental: { 'claude/channel': {} },
        ...present({ extensions: hasTasks ? { [TASKS]: {} } : undefined }),
      },
      instructions: instructions(tools, options.open ?? 0),
      // `decisionOf` takes no answer but those that were offered
      jsonSchemaValidator: {
        getValidator: () => data => ({ valid: true, data: data as never, errorMessage: undefined }),
      },
    },
  )
  const filesOf = filesOn(link, options)
  const serving = { server, era, tools, given: contextOf(link, options), filesOf, roots: rootsOf(server) }
  serveTools(serving)
  if (hasTasks) serveTasks(server, { ...serving.given, files: filesOf(noRoots) })
  serveResources(serving)
  servePrompts(
    server,
    prompts.filter(prompt => prompt.needs.every(has)),
  )
  notifyOf(server, era, link, has)
  return server
}

function contextOf(link: NodeLink, options: ServerOptions): Given {
  const { command = line => line, readOnly = false } = options
  const here = options.tools ?? allTools
  const absent = new Set(allTools.filter(tool => !here.includes(tool)).map(tool => tool.name))
  return { call: link.call, asked: new Map(), command, readOnly, absent }
}

const noRoots: Roots = async () => undefined

function filesOn(link: NodeLink, { folders = [], cwd = process.cwd() }: ServerOptions) {
  let known: Promise<string> | undefined
  const dataDir = () => {
    known ??= link.call('status').then(status => status.data_dir)
    known.catch(() => {
      known = undefined
    })
    return known
  }
  return (roots: Roots): Files => openFiles({ configured: folders, cwd, roots, dataDir })
}

function serveTools(serving: Serving): void {
  const { server, tools } = serving
  const rounds = new Rounds()
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(definitionOf) }))
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: args = {} } = request.params
    const tool = tools.find(row => row.name === name)
    if (tool === undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${name}; expected ${tools.map(row => row.name).join(', ')}`,
      )
    const { mcpReq } = context
    const token = mcpReq._meta?.progressToken
    const progress = token === undefined ? undefined : startProgress(token, mcpReq.notify)
    const call = JSON.stringify([name, args])
    const round = rounds.of(call, mcpReq.requestState(), mcpReq.inputResponses)
    try {
      return await callTool(serving, { tool, args, round }, context)
    } catch (thrown) {
      if (thrown instanceof InputNeeded) return rounds.ask(thrown, round)
      throw thrown
    } finally {
      clearInterval(progress)
    }
  })
}

type ToolCall = { tool: Tool; args: Record<string, unknown>; round: Round }

function callTool(
  { server, era, given, filesOf, roots }: Serving,
  { tool, args, round }: ToolCall,
  context: ServerContext,
) {
  const { signal } = context.mcpReq
  if (era === 'legacy') {
    const askUser = userOf(server, era, context, round)
    return runTool(tool, args, { ...given, files: filesOf(roots), signal, ...present({ askUser }) })
  }
  const files = filesOf(rootsBetweenRounds(server, context, round))
  const inRounds = { ...given, files, signal, callKey: round.key }
  // the task itself asks what has to be asked
  if (tool.name === taskDelegate.name && knowsTasks(server, context)) return delegationOf(args, inRounds)
  return runTool(tool, args, { ...inRounds, ...present({ askUser: userOf(server, era, context, round) }) })
}

function serveResources({ server, given, filesOf }: Serving): void {
  const reading = { ...given, files: filesOf(noRoots), readOnly: true }
  server.setRequestHandler('resources/list', async () => ({
    resources: await listResources(given.call),
  }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }, { mcpReq: { signal } }) => {
    const reader = readerOf(uri)
    const tool = allTools.find(row => row.name === reader?.tool)
    if (reader === undefined || tool === undefined)
      throw new ResourceNotFoundError(uri, `there is no resource ${uri}`)
    const read = await runTool(tool, reader.args, { ...reading, signal })
    const text = read.content[0]?.text ?? ''
    if ('isError' in read) throw new ResourceNotFoundError(uri, text)
    return { contents: [{ uri, mimeType: 'application/json', text, ...present({ _meta: read._meta }) }] }
  })
}

function servePrompts(server: Server, offered: readonly PromptRow[]): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: offered.map(({ text: _, needs: __, ...row }) => ({ ...row, arguments: [...row.arguments] })),
  }))
  server.setRequestHandler('prompts/get', ({ params: { name, arguments: args = {} } }) => {
    const prompt = offered.find(row => row.name === name)
    if (prompt === undefined)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no prompt ${name}`)
    const missing = prompt.arguments.find(row => row.required && (args[row.name] ?? '') === '')
    if (missing !== undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `${missing.name} is missing: ${missing.description}`,
      )
    const content = { type: 'text' as const, text: prompt.text(args) }
    return { description: prompt.description, messages: [{ role: 'user' as const, content }] }
  })
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

/**
 * Serves one server on this process's stdio until the client is gone; resolves with the reason. Nothing but protocol
 * goes to stdout.
 */
export async function serveStdio(create: (era: Era) => Server): Promise<string> {
  console.log = console.info = console.debug = console.error
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
  const served = serveConnection(({ era }) => create(era), {
    transport: new LineTransport(process.stdin, process.stdout, refusalOf),
    onerror: error => console.error(`svc: ${error.message}`),
  })
  const reason = await promise
  clearInterval(look)
  await served.close().catch(() => {})
  return reason
}
