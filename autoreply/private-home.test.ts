/** What a coding agent finds of its owner, told to a program that takes and leaves whatever it can. */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { BackendFailed } from './backend.ts'
import { type ExecOptions, execBackend } from './exec.ts'
import { lendLogin } from './private-home.ts'
import { NO_SANDBOX } from './sandbox.ts'
import { random, requestOf } from './testing.ts'

const never = new AbortController().signal
const TASK = 'words of a stranger'

/** It looks where the program of this name keeps its things, and leaves the prompt there and what it found in `seen`. */
const GREEDY = (folders: string, seen: string) => `#!${process.execPath}
const fs = require('node:fs'), path = require('node:path'), env = process.env
const folder = ${folders}
fs.mkdirSync(folder, { recursive: true })
const files = fs.readdirSync(folder, { recursive: true, withFileTypes: true }).filter(e => e.isFile())
  .map(e => [e.name, fs.readFileSync(path.join(e.parentPath, e.name), 'utf8')])
fs.writeFileSync(${JSON.stringify(seen)}, JSON.stringify({ files, args: process.argv.slice(2), env }))
fs.writeFileSync(path.join(folder, 'session.jsonl'), ${JSON.stringify(TASK)})
`

const fileNames = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

async function run(
  agent: string,
  folders: string,
  files: Record<string, string>,
  more: Partial<ExecOptions> = {},
) {
  const root = mkdtempSync(join(tmpdir(), 'svc-private-'))
  const [home, bin, seen] = [join(root, 'home'), join(root, 'bin'), join(root, 'seen')]
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  mkdirSync(bin)
  writeFileSync(join(bin, agent), GREEDY(folders, seen))
  chmodSync(join(bin, agent), 0o755)
  const before = fileNames(home)
  const backend = execBackend({
    agent,
    command: undefined,
    extraArgs: [],
    model: undefined,
    openclawAgent: undefined,
    tools: 'none',
    workRoot: join(root, 'work'),
    sandbox: NO_SANDBOX,
    hidden: [],
    random,
    ...more,
    env: { ...more.env, PATH: bin, HOME: home },
  })
  await expect(backend.reply(requestOf(TASK), never)).rejects.toBeInstanceOf(BackendFailed)
  expect(fileNames(home)).toEqual(before)
  expect(readdirSync(join(root, 'work'))).toEqual([])
  return JSON.parse(readFileSync(seen, 'utf8')) as {
    files: [string, string][]
    args: string[]
    env: Record<string, string>
  }
}

const SETTINGS = JSON.stringify({ security: { auth: { selectedType: 'a key' } }, mcpServers: { own: {} } })

describe.each([
  ['claude', 'env.CLAUDE_CONFIG_DIR', '.claude/.credentials.json', ['.claude/CLAUDE.md', '.claude.json']],
  ['codex', 'env.CODEX_HOME', '.codex/auth.json', ['.codex/AGENTS.md', '.codex/config.toml']],
  ['gemini', 'path.join(env.GEMINI_CLI_HOME, ".gemini")', '.gemini/oauth_creds.json', ['.gemini/GEMINI.md']],
  ['qwen', 'path.join(env.HOME, ".qwen")', '.qwen/oauth_creds.json', ['.qwen/QWEN.md', '.qwen/AGENTS.md']],
  [
    'copilot',
    'env.COPILOT_HOME',
    '.copilot/config.json',
    ['.copilot/mcp-config.json', '.copilot/copilot-instructions.md'],
  ],
  [
    'opencode',
    'path.join(env.XDG_DATA_HOME, "opencode")',
    '.local/share/opencode/auth.json',
    ['.local/share/opencode/opencode.db'],
  ],
] as const)('%s', (agent, folders, login, instructions) => {
  test('has the login of its owner, no instructions and no servers, and leaves nothing in the home', async () => {
    const owners = Object.fromEntries(instructions.map(path => [path, 'of the owner']))
    const settings = agent === 'gemini' || agent === 'qwen' ? { [`.${agent}/settings.json`]: SETTINGS } : {}
    const { files, env } = await run(agent, folders, { [login]: 'the login', ...owners, ...settings })
    expect(files.map(([, text]) => text)).toContain('the login')
    expect(files.map(([, text]) => text)).not.toContain('of the owner')
    expect(JSON.stringify(files)).not.toContain('mcpServers')
    expect(env['HOME']).toMatch(/\/work\/run-[^/]+\/home$/)
    if (agent === 'gemini' || agent === 'qwen') expect(JSON.stringify(files)).toContain('a key')
    if (agent === 'opencode') expect(env['OPENCODE_DISABLE_CLAUDE_CODE']).toBe('1')
  })
})

test('claude expands no file into its prompt: by its environment and by its settings', async () => {
  const { args, env } = await run('claude', 'path.join(process.cwd(), "none")', { '.claude/CLAUDE.md': 'x' })
  expect(env['CLAUDE_CODE_DISABLE_ATTACHMENTS']).toBe('1')
  const settings = JSON.parse(args[args.indexOf('--settings') + 1] ?? '') as unknown
  expect(settings).toEqual({ permissions: { deny: ['Read(//**)', 'Read'] } })
})

test('codex and gemini and qwen are offered nothing that reads, starts or goes on by itself', async () => {
  const codex = (await run('codex', 'env.CODEX_HOME', { x: '' })).args.join(' ')
  for (const feature of ['shell_tool', 'view_image', 'multi_agent', 'goals'])
    expect(codex).toContain(`-c features.${feature}=false`)
  const gemini = await run('gemini', 'env.GEMINI_CLI_HOME', { x: '' })
  expect(gemini.files.find(([name]) => name === 'policy.toml')?.[1]).toContain(
    'toolName = "*"\ndecision = "deny"',
  )
  expect(gemini.args.join(' ')).toMatch(/--policy \S+\/policy\.toml/)
  const qwen = (await run('qwen', 'path.join(env.HOME, ".qwen")', { x: '' })).args
  expect(qwen[qwen.indexOf('--exclude-tools') + 1]?.split(',')).toEqual(
    expect.arrayContaining(['agent', 'read_file', 'run_shell_command', 'tool_call']),
  )
})

test('gemini goes by the key of its environment where its owner has chosen no login', async () => {
  const given = { env: { GEMINI_API_KEY: 'a key' } }
  const { files } = await run('gemini', 'path.join(env.GEMINI_CLI_HOME, ".gemini")', { x: '' }, given)
  expect(files.map(([, text]) => JSON.parse(text).security)).toEqual([
    { auth: { selectedType: 'gemini-api-key' } },
  ])
})

test('openclaw has a configuration of the run alone, which denies every tool and names no key', async () => {
  const provider = { url: 'http://127.0.0.1:1/v1', keyEnv: 'OWN_KEY' }
  const owners = { '.openclaw/openclaw.json': '{"mcp":{}}', '.openclaw/workspace/AGENTS.md': 'x' }
  const given = { provider, model: 'm' }
  const { files, args, env } = await run('openclaw', 'env.OPENCLAW_HOME', owners, given)
  const [[name, text] = []] = files
  expect([files.length, name, args.slice(0, 3)]).toEqual([1, 'openclaw.json', ['agent', 'exec', '--config']])
  expect(JSON.parse(text ?? '')).toMatchObject({
    tools: { deny: ['*'], fs: { workspaceOnly: true } },
    agents: { defaults: { contextInjection: 'never', skills: [] } },
    models: {
      mode: 'replace',
      providers: { own: { apiKey: expect.stringMatching(/^\$\{OWN_KEY\}$/), models: [{ input: ['text'] }] } },
    },
  })
  for (const folder of [env['HOME'], env['OPENCLAW_STATE_DIR']])
    expect(folder?.startsWith(env['OPENCLAW_HOME'] ?? '-')).toBe(true)
})

test('a login that was renewed is given back; one that is none, or that the owner changed meanwhile, is not', () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-login-'))
  const [owners, home] = [join(root, 'owners'), join(root, 'home')]
  const [own, lent] = [join(owners, 'auth.json'), join(home, '.codex', 'auth.json')]
  mkdirSync(owners)
  const after = (renewed: string, meanwhile?: string, isRenewed = true) => {
    writeFileSync(own, '{"token":1}', { mode: 0o600 })
    const giveBack = lendLogin(
      { owners, own: '.codex', files: ['auth.json', 'none.json'], renewed: isRenewed },
      home,
    )
    expect(readFileSync(lent, 'utf8')).toBe('{"token":1}')
    writeFileSync(lent, renewed)
    if (meanwhile !== undefined) writeFileSync(own, meanwhile)
    giveBack()
    return readFileSync(own, 'utf8')
  }
  expect(after('{"token":2}')).toBe('{"token":2}')
  expect(statSync(own).mode & 0o777).toBe(0o600)
  expect(after('{"tok')).toBe('{"token":1}')
  expect(after('{"token":2}', '{"token":3}')).toBe('{"token":3}')
  expect(after('{"token":2}', undefined, false)).toBe('{"token":1}')
  expect(readdirSync(owners)).toEqual(['auth.json'])
})

test('what a run puts in the place of its login is not read: a link, a pipe, a second name of another file', () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-login-'))
  const [owners, home, other] = [join(root, 'owners'), join(root, 'home'), join(root, 'other.json')]
  mkdirSync(owners)
  writeFileSync(other, '{"secret":1}')
  writeFileSync(join(owners, 'auth.json'), '{"token":1}')
  const lent = join(home, '.codex', 'auth.json')
  for (const replace of [
    () => symlinkSync(other, lent),
    () => linkSync(other, lent),
    () => execFileSync('mkfifo', [lent]),
    () => mkdirSync(lent),
  ]) {
    const giveBack = lendLogin({ owners, own: '.codex', files: ['auth.json'], renewed: true }, home)
    rmSync(lent)
    replace()
    giveBack()
    expect(readFileSync(join(owners, 'auth.json'), 'utf8')).toBe('{"token":1}')
    rmSync(home, { recursive: true })
  }
})
