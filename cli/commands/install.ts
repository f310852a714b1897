/** `svc install`: the instructions of svc in a coding agent's own files, and its MCP server in its configuration. */
import * as fs from 'node:fs'
import { delimiter, join } from 'node:path'
import { createTwoFilesPatch } from 'diff'
import { identityDirectory } from '../../daemon/home/home.ts'
import { present } from '../../protocol/encoding/present.ts'
import type { Input, Run } from '../command.ts'
import { type AgentTool, agentTools, type Launch, READING_TOOLS, SENDING_TOOLS } from '../install/agents.ts'
import { backupPath, keepBackup, leaveFolders, writeText } from '../install/files.ts'
import { type Root, rememberIdentity } from '../install/known-projects.ts'
import type { Env } from '../install/places.ts'
import { type Change, planInstall, planRemoval, type Standing, standing, type Wish } from '../install/plan.ts'
import { type Project, projectAt } from '../install/project.ts'
import { hint, type Io, printReply, UsageRefused } from '../io.ts'
import { start } from './start.ts'
import { flag } from './values.ts'

/** The tools with the files that are meant, and the identity for which they are written. */
type Scope = { readonly tools: readonly AgentTool[]; readonly launch: Launch; readonly project?: Project }

export const install: Run = async (io, input) => {
  const scope = scopeOf(io, input)
  const tool = chosen(input, scope)
  if (input.flags.has('--list')) return list(io, scope, tool === undefined ? scope.tools : [tool])
  return tool === undefined ? suggest(io, input, scope) : change(io, input, scope, tool)
}

async function change(io: Io, input: Input, scope: Scope, tool: AgentTool): Promise<number> {
  const { launch, project } = scope
  const isRemoval = input.flags.has('--remove')
  const wish = wishOf(input, tool, isRemoval)
  const changes = isRemoval ? planRemoval(tool, io.env, launch) : planInstall(tool, io.env, launch, wish)
  const isTrial = input.flags.has('--dry-run')
  const isLasting = !isTrial && !isRemoval
  const altered = isRemoval ? undefined : sayAltered(tool, standing(tool, io.env, launch), { wish, isTrial })
  if (project !== undefined && isLasting) rememberIdentity(project.root, project.id)
  if (!isTrial) carryOut(changes, isRemoval, tool.root)
  const made = isLasting && (await makeIdentity(io, input, project))
  printReply(io, {
    tool: tool.id,
    ...present({ project: project && { folder: project.root.folder, identity: project.id, made } }),
    dry_run: isTrial,
    changes: changes.map(change => ({ part: change.part, path: change.path, state: stateOf(change) })),
    ...present({
      altered,
      diff: isTrial ? changes.filter(isChange).map(patch).join('') : undefined,
    }),
    ...(wish.allowSend ? opened(tool) : wish.mcp ? closed(tool) : {}),
  })
  if (isLasting) sayNext(io, { call: wish.mcp ? undefined : again(tool, scope), made, project })
  return 0
}

/** What becomes of a server that stands in a project otherwise than this installation writes it. */
function sayAltered(
  tool: AgentTool,
  { mcp }: Standing,
  { wish, isTrial }: { wish: Wish; isTrial: boolean },
): string | undefined {
  if (mcp !== 'altered') return undefined
  const what = `the server svc that stood in the files of ${tool.name} in this project was not as this installation writes it, and may have started anything`
  if (!wish.mcp) return `${what}; svc install ${tool.id} --mcp --project writes it anew`
  return `${what}; it ${isTrial ? 'would be' : 'was'} written anew whole`
}

type Next = { call: string | undefined; made: boolean; project: Project | undefined }

function sayNext(io: Io, { call, made, project }: Next): void {
  if (call !== undefined) hint(io, `to register the MCP server too:\n${call} --mcp`)
  if (made) hint(io, `to have others reach it:\nsvc --id ${project?.id} hub-register <url> --name <name>`)
}

/** Makes the identity of a project where there is none, and starts its node; whether it was made. */
async function makeIdentity(io: Io, input: Input, project: Project | undefined): Promise<boolean> {
  if (project === undefined || fs.existsSync(identityDirectory(io.env, project.id))) return false
  const quiet = Object.create(io, { out: { value: () => {} }, hints: { value: false } }) as Io
  await start(quiet, { ...input, id: project.id })
  return true
}

const again = ({ id }: AgentTool, { project }: Scope): string =>
  `svc install ${id}${project === undefined ? '' : ' --project'}`

/** The user's own files, or those of the project in this folder with its identity. */
function scopeOf(io: Io, input: Input): Scope {
  const launch = launchOf(io, input)
  if (!input.flags.has('--project')) return { tools: agentTools, launch }
  const project = projectAt(io.cwd, io.env, launch)
  return { tools: project.tools, launch: { ...launch, id: project.id }, project }
}

/** What `--allow-send` opens. */
function opened(tool: AgentTool): { allows: string[]; note?: string } {
  const note = `${tool.name} then calls every tool of svc without asking, also one that a later release adds`
  const allows = [...READING_TOOLS, ...SENDING_TOOLS]
  return { allows, ...present({ note: tool.trustsAll ? note : undefined }) }
}

/** What stays closed where no user is there to be asked. */
const closed = ({ unattended }: AgentTool): { note?: string } =>
  unattended === undefined ? {} : { note: `run without a user, as in a script, its model ${unattended}` }

function wishOf(input: Input, tool: AgentTool, isRemoval: boolean): Wish {
  const wish = {
    mcp: input.flags.has('--mcp'),
    allowSend: input.flags.has('--allow-send'),
    hooks: input.flags.has('--hooks'),
  }
  const refused: [boolean, string][] = [
    [wish.allowSend && !wish.mcp, '--allow-send needs --mcp'],
    [
      wish.allowSend && tool.allowSend === undefined,
      `the configuration of ${tool.name} has no word for --allow-send`,
    ],
    [
      wish.hooks && tool.hooks === undefined,
      `svc knows no hooks of ${tool.name}; it knows those of ${idsOf(agentTools.filter(one => one.hooks !== undefined))}`,
    ],
    [isRemoval && wish.mcp, '--remove takes out everything; leave out --mcp'],
    [isRemoval && wish.hooks, '--remove takes out everything; leave out --hooks'],
  ]
  const [, sentence] = refused.find(([holds]) => holds) ?? []
  if (sentence !== undefined) throw new UsageRefused(sentence, 'svc help install')
  return wish
}

/** What is installed here, and what would be done. */
function suggest(io: Io, input: Input, scope: Scope): number {
  if (input.flags.has('--remove'))
    throw new UsageRefused(
      'expected the tool to remove svc from; svc install --list says where it is',
      'svc install <tool> --remove',
    )
  const { launch, tools } = scope
  const found = tools.filter(tool => isInstalled(tool, io.env))
  const none = `none of ${idsOf(tools)} is installed here; svc install <tool> works all the same`
  const rows = found.map(tool => ({ tool: tool.id, name: tool.name, ...standing(tool, io.env, launch) }))
  printReply(io, {
    found: rows,
    would: found
      .filter((_, n) => Object.values(rows[n] ?? {}).every(word => word !== 'unreadable'))
      .map(tool => `${again(tool, scope)} --mcp`),
    ...present({ note: found.length === 0 ? none : undefined }),
  })
  return 0
}

function list(io: Io, { launch }: Scope, listed: readonly AgentTool[]): number {
  const tools = listed.map(tool => ({
    tool: tool.id,
    name: tool.name,
    installed: isInstalled(tool, io.env),
    ...standing(tool, io.env, launch),
    persona_file: tool.persona(io.env),
  }))
  printReply(io, { tools })
  return 0
}

function chosen(input: Input, { tools, project }: Scope): AgentTool | undefined {
  const named = [flag(input, '--agent', 'agent').agent, input.positionals[0]].filter(
    name => name !== undefined,
  )
  const [name, other] = named
  if (other !== undefined && other !== name)
    throw new UsageRefused(`two tools were named: ${name} and ${other}`, 'svc help install')
  if (name === undefined) return undefined
  const tool = tools.find(({ id }) => id === name)
  if (tool !== undefined) return tool
  if (project !== undefined && agentTools.some(({ id }) => id === name))
    throw new UsageRefused(
      `${name} has no configuration of a project; leave out --project`,
      'svc help install',
    )
  throw new UsageRefused(`unknown tool: ${name}; expected ${idsOf(tools)}`, 'svc install --list')
}

const idsOf = (tools: readonly AgentTool[]) => tools.map(({ id }) => id).join(', ')

/** This very program in absolute paths, for the identity that was selected. */
export function launchOf(io: Io, input: Input): Launch {
  const id = input.id ?? io.env['SVC_ID']
  const program = fs.realpathSync(process.argv[1] as string)
  const env = Object.fromEntries(
    ['SVC_HOME', 'SVC_DATA_DIR'].flatMap(name => (io.env[name] === undefined ? [] : [[name, io.env[name]]])),
  ) as Record<string, string>
  return { command: process.execPath, program, id, env }
}

function isInstalled(tool: AgentTool, env: Env): boolean {
  const folders = (env['PATH'] ?? '').split(delimiter).filter(folder => folder !== '')
  return folders.some(folder => fs.existsSync(join(folder, tool.program)))
}

export function carryOut(changes: readonly Change[], isRemoval: boolean, root?: Root): void {
  for (const change of changes.filter(isChange)) {
    if (change.backup && !isRemoval) keepBackup(change.path, root)
    writeText(change.path, change.after, root)
    if (change.backup && isRemoval) fs.rmSync(backupPath(change.path, root), { force: true })
  }
  if (isRemoval)
    leaveFolders(
      changes.map(({ path }) => path),
      root,
    )
}

export const isChange = ({ before, after }: Change) => before !== after

export function stateOf({ before, after }: Change): 'created' | 'changed' | 'removed' | 'unchanged' {
  if (before === after) return 'unchanged'
  if (before === undefined) return 'created'
  return after === undefined ? 'removed' : 'changed'
}

const PATCH_WAIT_MS = 2000

const patch = ({ path, before, after }: Change): string =>
  createTwoFilesPatch(path, path, before ?? '', after ?? '', undefined, undefined, {
    context: 2,
    timeout: PATCH_WAIT_MS,
  }) ?? `--- ${path}\n+++ ${path}\n(too much differs to be shown)\n`
