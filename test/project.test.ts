// project: programs

/** `svc install --project` with the built program: a project has a node of its own, and hears of its own tasks alone. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const program = new URL('../dist/svc.js', import.meta.url).pathname
const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-project-')))
const project = join(home, 'site')
mkdirSync(project)
const env = { PATH: process.env['PATH'], HOME: home, SVC_RUNTIME_DIR: join(home, 'run') }

function svc(...args: string[]): Record<string, never> {
  return JSON.parse(
    execFileSync(process.execPath, [program, ...args], {
      cwd: project,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
}

afterAll(() => {
  svc('stop', '--all')
  rmSync(home, { recursive: true, force: true })
})

test('makes an identity for the project once, which its agents share and its server starts', () => {
  const first = svc('install', 'claude', '--mcp', '--hooks', '--project')
  expect(first['project']).toEqual({ folder: project, identity: 'site', made: true })
  expect(svc('install', 'gemini', '--mcp', '--project')['project']).toMatchObject({
    identity: 'site',
    made: false,
  })
  const { mcpServers } = JSON.parse(readFileSync(join(project, '.mcp.json'), 'utf8'))
  const { command, args } = mcpServers.svc
  expect(args.slice(-3)).toEqual(['--start', '--id', 'site'])
  svc('stop', 'site')
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }
  const said = execFileSync(command, args, {
    cwd: project,
    env,
    input: `${JSON.stringify(initialize)}\n`,
    encoding: 'utf8',
  })
  expect(JSON.parse(said.split('\n')[0] as string).result.serverInfo.name).toBe('svc')
  const { data_dir } = svc('--id', 'site', 'status')
  expect(data_dir).toBe(join(home, '.svc', 'ids', 'site'))
  const { tools } = svc('install', '--list', '--project') as unknown as {
    tools: { tool: string; mcp: string }[]
  }
  expect(tools.filter(({ mcp }) => mcp === 'registered').map(({ tool }) => tool)).toEqual([
    'claude',
    'gemini',
  ])
  const { changes } = svc('install', 'claude', '--remove', '--project') as unknown as {
    changes: { state: string }[]
  }
  expect(changes.every(({ state }) => state === 'removed')).toBe(true)
})
