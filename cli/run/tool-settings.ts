/** What the flags of a tool server choose: which tools it has, and which folders are open to them. */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { ServerOptions } from '../../mcp/server.ts'
import type { Tool } from '../../mcp/tool.ts'
import type { Input } from '../command.ts'
import { CommandFailed, type Io, UsageRefused } from '../io.ts'

type Settings = Required<Pick<ServerOptions, 'tools' | 'readOnly' | 'folders' | 'cwd' | 'command'>>

/** The server of tools, or what stands in its place in a build without it. */
type Compiled = { readonly isCompiled: boolean; readonly tools: readonly Tool[] }

export function toolSettings(io: Io, input: Input, { isCompiled, tools }: Compiled): Settings {
  if (!isCompiled) throw new CommandFailed('this build has no MCP support', 'svc version')
  const readOnly = input.flags.has('--read-only')
  const chosen = namesOf(input, tools)
  const offered = tools.filter(
    ({ name, annotations }) =>
      (chosen === undefined || chosen.includes(name)) && (!readOnly || annotations.readOnlyHint),
  )
  if (offered.length === 0)
    throw new UsageRefused(
      `no tool is left of ${chosen?.join(', ')} under --read-only; choose one that reads, or leave out --read-only`,
      'svc help mcp',
    )
  const folders = input.flags.get('--folder') ?? []
  for (const folder of folders) checkFolder(folder)
  return {
    tools: offered,
    readOnly,
    folders,
    cwd: io.cwd,
    command: line => io.asCalled(line),
  }
}

/** Where a coding agent starts a server is its own affair, so only an absolute path means one folder. */
function checkFolder(folder: string): void {
  const fault = !isAbsolute(folder)
    ? 'is not an absolute path'
    : !isFolder(folder)
      ? 'is no folder that can be read'
      : undefined
  if (fault !== undefined)
    throw new UsageRefused(
      `--folder ${JSON.stringify(folder)} ${fault}; expected the absolute path of a folder`,
      'svc help mcp',
    )
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

function namesOf(input: Input, tools: readonly Tool[]): string[] | undefined {
  const [given] = input.flags.get('--tools') ?? []
  if (given === undefined) return undefined
  const known = tools.map(tool => tool.name)
  const names = given.split(',').map(name => name.trim())
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined)
    throw new UsageRefused(`unknown tool: ${unknown}; expected some of ${known.join(', ')}`, 'svc help mcp')
  return names
}
