// project: programs

import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { tools as allTools } from '../../mcp/tools/all.ts'
import { type AgentTool, agentTools, type Launch, READING_TOOLS, SENDING_TOOLS } from './agents.ts'
import { backupPath, keepBackup, readText, writeText } from './files.ts'
import { persona, startCommand } from './persona.ts'
import { planInstall, planRemoval, standing } from './plan.ts'

const launch: Launch = {
  command: '/opt/node',
  program: '/opt/svc.js',
  id: 'work',
  env: { SVC_HOME: '/data' },
}
const all = { mcp: true, allowSend: false, hooks: false }
let home: string
const env = () => ({ HOME: home })

beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'svc-install-'))
})

function installed(tool: AgentTool, wish = all): void {
  for (const { path, after, backup, before } of planInstall(tool, env(), launch, wish)) {
    if (before === after) continue
    if (backup) keepBackup(path)
    writeText(path, after)
  }
}
const removed = (tool: AgentTool) => {
  for (const { path, after, before } of planRemoval(tool, env(), launch))
    if (before !== after) writeText(path, after)
}
const files = (folder = home): Record<string, string> =>
  Object.fromEntries(
    fs
      .readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !/\.before-svc$|\.cache/.test(join(entry.parentPath, entry.name)))
      .map(entry => [
        join(entry.parentPath, entry.name).slice(home.length + 1),
        fs.readFileSync(join(entry.parentPath, entry.name), 'utf8'),
      ]),
  )
const given = (path: string, text: string) => {
  fs.mkdirSync(dirname(join(home, path)), { recursive: true })
  fs.writeFileSync(join(home, path), text)
}

/** The text with another entry of our server, wherever it stands in it. */
function edited(text: string, change: (entry: Record<string, unknown>) => object): string {
  const root = JSON.parse(text) as Record<string, Record<string, never>>
  const servers = (root['mcpServers'] ?? root['mcp']?.['servers'] ?? root['mcp']) as Record<string, object>
  servers['svc'] = change(servers['svc'] as Record<string, unknown>)
  if (root['tools'] !== undefined) delete root['tools']
  return JSON.stringify(root, null, 2)
}

test('what a model is told has fewer than 200 words', () => {
  expect(persona(launch).split(/\s+/).length).toBeLessThan(200)
})

test('what a model is told to have started works from any folder, whatever its user calls svc', () => {
  expect(persona(launch)).toContain('`SVC_HOME=/data /opt/node /opt/svc.js --id work up`')
  expect(persona(launch)).not.toContain('`svc up`')
  const spaced = { command: '/my programs/node', program: "/it's/svc.js", id: undefined, env: {} }
  const words = spawnSync('sh', ['-c', `printf '%s\\n' ${startCommand(spaced)}`], { encoding: 'utf8' }).stdout
  expect(words).toBe("/my programs/node\n/it's/svc.js\nup\n")
})

describe.each(agentTools.map(tool => [tool.id, tool] as const))('%s', (_, tool) => {
  test('gets its instructions and the server where nothing of it is installed yet', () => {
    expect(standing(tool, env(), launch)).toMatchObject({ persona: 'absent', mcp: 'absent' })
    installed(tool)
    expect(standing(tool, env(), launch)).toMatchObject({ persona: 'installed', mcp: 'registered' })
    const text = Object.values(files()).join('\n')
    expect(text).toContain('/opt/svc.js')
    expect(text).toContain('"work"')
    expect(text).not.toMatch(/"trust"|approval_mode/)
    for (const name of SENDING_TOOLS) expect(text).not.toContain(`mcp__svc__${name}`)
    for (const path of Object.keys(files())) expect(fs.statSync(join(home, path)).mode & 0o077).toBe(0)
  })

  test('is the same after a second time, and as before after its removal', () => {
    const before = files()
    installed(tool)
    const once = files()
    installed(tool)
    expect(files()).toEqual(once)
    removed(tool)
    expect(files()).toEqual(before)
  })

  test('keeps what its owner wrote, byte for byte', () => {
    installed(tool)
    const written = Object.keys(files())
    removed(tool)
    for (const path of written) {
      const text = path.endsWith('.json')
        ? '{\r\n    // note\r\n    "theme": "dark"\r\n}'
        : path.endsWith('.toml')
          ? 'model = "x"  # mine\n[projects."/a"]\ntrust_level = "trusted"'
          : '# My rules\r\n\r\nBe kind.'
      given(path, text)
    }
    const before = files()
    installed(tool)
    for (const [path, text] of Object.entries(files()))
      expect(text.startsWith(before[path]?.slice(0, 20) as string), path).toBe(true)
    removed(tool)
    expect(files()).toEqual(before)
  })

  test('leaves a server of the same name alone that somebody else registered', () => {
    installed(tool)
    const path = tool.register(env(), launch)[0]?.path as string
    const file = path.slice(home.length + 1)
    const text = files()[file] as string
    removed(tool)
    const foreign = path.endsWith('.toml')
      ? '[mcp_servers.svc]\nurl = "https://svc.corp.example/mcp"\n'
      : edited(text, () => ({ type: 'http', url: 'https://svc.corp.example/mcp' }))
    given(file, foreign)
    const before = files()
    expect(() => planInstall(tool, env(), launch, all)).toThrow(/already has .*svc.* did not write/)
    expect(standing(tool, env(), launch).mcp).toBe('other')
    removed(tool)
    expect(files()).toEqual(before)
  })

  test('keeps what its owner added to the server, and takes all of it out', () => {
    installed(tool)
    const path = tool.register(env(), launch)[0]?.path as string
    const file = path.slice(home.length + 1)
    const text = files()[file] as string
    const added = path.endsWith('.toml')
      ? text
          .replace('"work"]', '"work", "--folder", "/data"]')
          .replace('env = { ', 'env = { MINE = "1", ')
          .replace('# svc:end', 'startup_timeout_sec = 20\n\n# svc:end')
      : edited(text, entry => ({
          ...entry,
          ...(Array.isArray(entry['command'])
            ? { command: [...entry['command'], '--folder', '/data'] }
            : { args: [...(entry['args'] as string[]), '--folder', '/data'] }),
          ['environment' in entry ? 'environment' : 'env']: { MINE: '1', SVC_HOME: '/data' },
          timeout: 20,
        }))
    given(file, added)
    const again = { ...launch, command: '/newer/node', program: '/newer/svc.js', id: undefined }
    for (const change of planInstall(tool, env(), again, all)) writeText(change.path, change.after)
    const after = files()[file] as string
    for (const word of [
      '/newer/node',
      '/newer/svc.js',
      '"--id"',
      '"work"',
      '"--folder"',
      'MINE',
      '/data',
      '20',
    ])
      expect(after).toContain(word)
    expect(after).not.toContain('/opt/')
    expect(after.split('"mcp"').length).toBeLessThan(4)
    for (const change of planInstall(tool, env(), again, all)) expect(change.after).toBe(change.before)
    installed(tool)
    expect(files()[file]).toContain('/opt/svc.js')
    expect(files()[file]?.split('"--id"')).toHaveLength(2)
    removed(tool)
    expect(files()[file] ?? '').not.toMatch(/svc|MINE/)
  })

  test('changes its instructions alone unless the server was asked for', () => {
    installed(tool, { mcp: false, allowSend: false, hooks: false })
    expect(Object.keys(files())).toHaveLength(1)
    expect(standing(tool, env(), launch)).toMatchObject({ persona: 'installed', mcp: 'absent' })
  })
})

describe.each(agentTools.filter(tool => tool.allowSend).map(tool => [tool.id, tool] as const))(
  '%s',
  (id, tool) => {
    test('sends without asking only where that was wished for, and never after the removal', () => {
      installed(tool)
      const plain = files()
      installed(tool, { mcp: true, allowSend: true, hooks: false })
      expect(files()).not.toEqual(plain)
      const word = id === 'claude' || id === 'codex' ? SENDING_TOOLS[0] : '"trust": true'
      expect(Object.values(files()).join()).toContain(word)
      removed(tool)
      expect(files()).toEqual({})
    })
  },
)

describe.each(agentTools.filter(tool => tool.allowSend).map(tool => [tool.id, tool] as const))(
  '%s',
  (_, tool) => {
    test('asks again before it sends once it is installed without leave to send', () => {
      installed(tool)
      const plain = files()
      expect(standing(tool, env(), launch)).toMatchObject({ mcp: 'registered', allow_send: false })
      installed(tool, { ...all, allowSend: true })
      expect(standing(tool, env(), launch)).toMatchObject({ mcp: 'registered', allow_send: true })
      installed(tool)
      expect(files()).toEqual(plain)
      expect(standing(tool, env(), launch).allow_send).toBe(false)
    })
  },
)

describe.each(agentTools.filter(tool => tool.hooks).map(tool => [tool.id, tool] as const))(
  '%s',
  (_, tool) => {
    const wish = { mcp: true, allowSend: false, hooks: true }
    const line = 'SVC_HOME=/data /opt/node /opt/svc.js --id work hook inbox --format '
    const hooksIn = (text: string) => text.split(line).length - 1

    test('looks for mail at its own events only where that was wished for, once at each, and never after the removal', () => {
      const before = files()
      installed(tool)
      expect(standing(tool, env(), launch).hooks).toBe('absent')
      installed(tool, wish)
      const once = files()
      expect(standing(tool, env(), launch).hooks).toBe('installed')
      expect(hooksIn(Object.values(once).join())).toBe(3)
      installed(tool, wish)
      installed(tool)
      expect(files()).toEqual(once)
      removed(tool)
      expect(files()).toEqual(before)
    })

    test('keeps the hooks of its owner, and has none of ours twice where this program was somewhere else', () => {
      const [registration] = tool.hooks?.(env(), launch) ?? []
      const event =
        registration !== undefined && 'settings' in registration ? registration.settings[0]?.path[1] : ''
      const path = registration?.path.slice(home.length + 1) ?? ''
      const own = { hooks: [{ type: 'command', command: 'say hello' }] }
      given(path, JSON.stringify({ hooks: { [event ?? '']: [own] } }, null, 2))
      const before = files()
      const moved = { ...launch, program: '/elsewhere/svc.js' }
      for (const { path, after, backup } of planInstall(tool, env(), moved, wish)) {
        if (backup) keepBackup(path)
        writeText(path, after)
      }
      installed(tool, wish)
      const text = files()[path] ?? ''
      expect([text.includes('say hello'), text.includes('/elsewhere'), hooksIn(text)]).toEqual([
        true,
        false,
        3,
      ])
      removed(tool)
      expect(files()).toEqual(before)
    })
  },
)

test.each([
  ['settings that are many', `\`${"SVC_A='a' ".repeat(40)}!`],
  ['quotes that are many', `\`${"'".repeat(100_001)} up\``],
  ['spans that are many', '` up`'.repeat(50_000)],
])('instructions hold no installation up with %s', (_, body) => {
  const claude = agentTools.find(({ id }) => id === 'claude') as AgentTool
  given('.claude/CLAUDE.md', `<!-- svc:begin v1 -->\n${body}\n<!-- svc:end -->\n`)
  const began = performance.now()
  installed(claude)
  expect(performance.now() - began).toBeLessThan(5_000)
  expect(standing(claude, env(), launch).persona).toBe('installed')
})

test('the identity in instructions is read as a shell would read it', () => {
  const claude = agentTools.find(({ id }) => id === 'claude') as AgentTool
  const spaced = {
    command: "/it's/node",
    program: '/my programs/svc.js',
    id: 'work',
    env: { SVC_HOME: "/o'h x" },
  }
  for (const { path, after } of planInstall(claude, env(), spaced, { ...all, mcp: false }))
    writeText(path, after)
  const again = planInstall(claude, env(), { ...launch, id: undefined, env: {} }, all)
  const server = JSON.parse(again.find(({ path }) => path.endsWith('.claude.json'))?.after ?? '{}').mcpServers
    .svc
  expect([server.env, server.args.slice(-2)]).toEqual([{ SVC_HOME: "/o'h x" }, ['--id', 'work']])
})

test('a file that never ends is refused, not waited for', () => {
  const claude = agentTools.find(({ id }) => id === 'claude') as AgentTool
  fs.mkdirSync(join(home, '.claude'))
  spawnSync('mkfifo', [join(home, '.claude', 'CLAUDE.md')])
  expect(() => planInstall(claude, env(), launch, all)).toThrow('it is not a regular file')
})

test('docs/agents.md names every file', () => {
  const text = fs.readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8')
  for (const tool of agentTools) {
    const paths = [
      tool.persona({ HOME: '~' }),
      ...tool.register({ HOME: '~' }, launch).map(({ path }) => path),
    ]
    const row = text.split('\n').find(line => line.startsWith(`| \`${tool.id}\``))
    for (const path of paths) expect(row).toContain(`\`${path}\``)
  }
})

describe('files of other programs', () => {
  const claude = agentTools.find(({ id }) => id === 'claude') as AgentTool
  const codex = agentTools.find(({ id }) => id === 'codex') as AgentTool

  test('are written through links, with the mode they have', () => {
    given('dotfiles/CLAUDE.md', 'mine\n')
    fs.chmodSync(join(home, 'dotfiles/CLAUDE.md'), 0o664)
    fs.mkdirSync(join(home, '.claude'))
    fs.symlinkSync('../dotfiles/CLAUDE.md', join(home, '.claude/CLAUDE.md'))
    installed(claude, { mcp: false, allowSend: false, hooks: false })
    expect(fs.lstatSync(join(home, '.claude/CLAUDE.md')).isSymbolicLink()).toBe(true)
    expect(fs.statSync(join(home, 'dotfiles/CLAUDE.md')).mode & 0o777).toBe(0o664)
    expect(fs.readFileSync(join(home, 'dotfiles/CLAUDE.md'), 'utf8')).toMatch(/^mine\n\n<!-- svc:begin/)
  })

  test.each([
    ['an absolute path', () => join(home, 'away/nope/X.md'), 'away/nope/X.md'],
    ['a path from the folder where it really is', () => '../../away/X.md', 'away/X.md'],
    ['another such link', () => 'next.md', 'away/last.md'],
  ])('that a link promises as %s come there, and go again without the link', (_, leadsTo, place) => {
    fs.mkdirSync(join(home, 'real/codex'), { recursive: true })
    fs.symlinkSync('real/codex', join(home, '.codex'))
    fs.symlinkSync('../../away/last.md', join(home, '.codex/next.md'))
    const link = join(home, '.codex/AGENTS.md')
    fs.symlinkSync(leadsTo(), link)
    installed(codex, { mcp: false, allowSend: false, hooks: false })
    expect(Object.keys(files())).toEqual([place])
    expect(standing(codex, env(), launch).persona).toBe('installed')
    removed(codex)
    expect(files()).toEqual({})
    expect(fs.readlinkSync(link)).toBe(leadsTo())
  })

  test('are copied once, before the first change, for their owner alone', () => {
    given('.claude.json', '{"a":1}')
    installed(claude)
    installed({ ...claude, register: (e, l) => claude.register(e, { ...l, command: '/other' }) })
    const copy = backupPath(join(home, '.claude.json'))
    expect([readText(copy), fs.statSync(copy).mode & 0o777]).toEqual(['{"a":1}', 0o600])
  })

  test('that changed since lose what is ours, and keep what came later', () => {
    given('.claude.json', '{"a":1}')
    installed(claude)
    const path = join(home, '.claude.json')
    fs.writeFileSync(path, JSON.stringify({ ...JSON.parse(fs.readFileSync(path, 'utf8')), later: true }))
    removed(claude)
    expect(JSON.parse(fs.readFileSync(path, 'utf8'))).toEqual({ a: 1, later: true })
  })

  test('with a server of the same name that somebody else wrote are refused, or named', () => {
    for (const table of [
      '[mcp_servers.svc]\ncommand = "x"\n',
      "[mcp_servers.'svc']\ncommand = 'x'\n",
      '[mcp_servers]\nother = { command = "y" }\nsvc = { command = "x" }\n',
      'mcp_servers.svc.command = "x"\n',
    ]) {
      given('.codex/config.toml', table)
      expect(() => planInstall(codex, env(), launch, all)).toThrow(/already has a table \[mcp_servers\.svc\]/)
      expect(standing(codex, env(), launch).mcp).toBe('other')
    }
    given('.claude.json', '{"mcpServers":{"svc":{"command":"docker","args":["run","corp/svc","mcp"]}}}')
    expect(standing(claude, env(), launch).mcp).toBe('other')
    expect(() => planInstall(claude, env(), launch, all)).toThrow(/mcpServers\.svc.*it leads to docker/)
  })

  test('keep the leave to send that their owner had given before, and it is seen', () => {
    const [own] = SENDING_TOOLS.map(tool => `mcp__svc__${tool}`)
    given('.claude/settings.json', JSON.stringify({ permissions: { allow: ['Bash', own] } }))
    installed(claude, { ...all, allowSend: true })
    installed(claude)
    const { permissions } = JSON.parse(files()['.claude/settings.json'] as string)
    expect(permissions.allow).toEqual(['Bash', own, ...READING_TOOLS.map(tool => `mcp__svc__${tool}`)])
    expect(standing(claude, env(), launch).allow_send).toBe(true)
    for (const [entry, allowed] of [
      ['mcp__svc', true],
      ['mcp__svc__*', true],
      ['mcp__svc__task_results', false],
    ]) {
      given('.claude/settings.json', JSON.stringify({ permissions: { allow: [entry] } }))
      expect(standing(claude, env(), launch).allow_send).toBe(allowed)
    }
  })

  test.each([
    ['CLAUDE_CONFIG_DIR', 'claude', 'CLAUDE.md'],
    ['CODEX_HOME', 'codex', 'AGENTS.md'],
    ['COPILOT_HOME', 'copilot', 'copilot-instructions.md'],
    ['XDG_CONFIG_HOME', 'opencode', 'opencode/AGENTS.md'],
    ['GEMINI_CLI_HOME', 'gemini', '.gemini/GEMINI.md'],
    ['OPENCLAW_STATE_DIR', 'openclaw', 'workspace/AGENTS.md'],
    ['OPENCLAW_HOME', 'openclaw', '.openclaw/workspace/AGENTS.md'],
    ['QWEN_HOME', 'qwen', 'QWEN.md'],
  ])('stand where %s says', (variable, id, path) => {
    const tool = agentTools.find(one => one.id === id) as AgentTool
    expect(tool.persona({ HOME: home, [variable]: '/elsewhere' })).toBe(`/elsewhere/${path}`)
    for (const { path: file } of tool.register({ HOME: home, [variable]: '/elsewhere' }, launch))
      expect(file.startsWith('/elsewhere/')).toBe(true)
  })

  test('of openclaw may each stand somewhere else', () => {
    const openclaw = agentTools.find(({ id }) => id === 'openclaw') as AgentTool
    const moved = { HOME: home, OPENCLAW_WORKSPACE_DIR: '/work', OPENCLAW_CONFIG_PATH: '/etc/claw.json' }
    const [registration] = openclaw.register(moved, launch)
    expect([openclaw.persona(moved), registration?.path]).toEqual(['/work/AGENTS.md', '/etc/claw.json'])
  })

  test('that are no text, or cannot be read or written, are named', () => {
    given('.claude/CLAUDE.md', '')
    fs.writeFileSync(join(home, '.claude/CLAUDE.md'), Buffer.from([0xff, 0xfe]))
    expect(() => planInstall(claude, env(), launch, all)).toThrow(/CLAUDE\.md is not UTF-8 text/)
    fs.rmSync(join(home, '.claude/CLAUDE.md'))
    fs.mkdirSync(join(home, '.claude/CLAUDE.md'))
    expect(() => planInstall(claude, env(), launch, all)).toThrow(/CLAUDE\.md cannot be read/)
    given('file', '')
    expect(() => writeText(join(home, 'file/x'), 'x')).toThrow(/cannot be written: /)
  })
})

test('tools that read and tools that send are those of the table', () => {
  const named = (reads: boolean) =>
    allTools.filter(tool => tool.annotations.readOnlyHint === reads).map(tool => tool.name)
  expect([...READING_TOOLS].sort()).toEqual(named(true).sort())
  expect([...SENDING_TOOLS].sort()).toEqual(named(false).sort())
})

describe('claude', () => {
  const claude = agentTools.find(({ id }) => id === 'claude') as AgentTool
  const allowed = () =>
    (JSON.parse(files()['.claude/settings.json'] as string).permissions.allow as string[]).map(name =>
      name.replace('mcp__svc__', ''),
    )

  test('may read without asking once the server is there, and do all with leave to send', () => {
    installed(claude)
    expect(allowed()).toEqual([...READING_TOOLS])
    installed(claude, { ...all, allowSend: true })
    expect(allowed().sort()).toEqual(allTools.map(({ name }) => name).sort())
  })

  test('sees the tools directly by a word in our own entry, and its search of tools is left alone', () => {
    given('.claude/settings.json', '{"env":{"MINE":"1"}}')
    installed(claude)
    const { mcpServers } = JSON.parse(files()['.claude.json'] as string)
    expect(mcpServers.svc.alwaysLoad).toBe(true)
    expect(JSON.parse(files()['.claude/settings.json'] as string).env).toEqual({ MINE: '1' })
  })

  test.each([
    ['nothing', undefined, undefined],
    ['a word of its owner about it', '{"env":{"ENABLE_TOOL_SEARCH":"auto"}}', 'auto'],
  ])(
    'gets its search of tools back where an earlier release switched it off over %s',
    (_, previous, word) => {
      if (previous !== undefined) given('.claude/settings.json', previous)
      const search = { path: ['env', 'ENABLE_TOOL_SEARCH'], value: 'false' }
      const path = join(home, '.claude', 'settings.json')
      const earlier = { ...claude, register: () => [{ path, settings: [search] }], previous: () => [] }
      installed(earlier)
      expect(files()['.claude/settings.json']).toMatch(/"ENABLE_TOOL_SEARCH":\s*"false"/)
      installed(claude)
      const { env: now } = JSON.parse(files()['.claude/settings.json'] as string)
      expect(now?.ENABLE_TOOL_SEARCH).toBe(word)
      removed(claude)
      expect(files()).toEqual(previous === undefined ? {} : { '.claude/settings.json': previous })
    },
  )

  test('keeps a search of tools that its owner switched off', () => {
    given('.claude/settings.json', '{"env":{"ENABLE_TOOL_SEARCH":"false"}}')
    installed(claude)
    installed(claude)
    expect(JSON.parse(files()['.claude/settings.json'] as string).env.ENABLE_TOOL_SEARCH).toBe('false')
  })
})

describe.each(agentTools.map(tool => [tool.id, tool] as const))('%s', (_, tool) => {
  const NAMES_WORK = /"work"|--id work/
  const everything = { mcp: true, allowSend: false, hooks: tool.hooks !== undefined }
  const again = (changes: Partial<Launch>, wish = everything) => {
    for (const { path, after, backup } of planInstall(
      tool,
      env(),
      { ...launch, id: undefined, env: {}, ...changes },
      wish,
    )) {
      if (backup) keepBackup(path)
      writeText(path, after)
    }
  }

  test('keeps the identity wherever it stands when it is installed again without one', () => {
    installed(tool, everything)
    const before = files()
    again({})
    expect(files()).toEqual(before)
    again({ id: 'play' })
    for (const [path, text] of Object.entries(files())) expect(text, path).not.toMatch(NAMES_WORK)
  })

  test('keeps it from its instructions where there was no server yet', () => {
    installed(tool, { mcp: false, allowSend: false, hooks: false })
    again({})
    expect(Object.values(files()).every(text => NAMES_WORK.test(text) && text.includes('/data'))).toBe(true)
  })
})

test('TOML that is broken is refused, and nothing is written', () => {
  const codex = agentTools.find(({ id }) => id === 'codex') as AgentTool
  given('.codex/config.toml', 'model = "x"\n[projects\n')
  expect(() => planInstall(codex, env(), launch, all)).toThrow(
    /config\.toml is not TOML that svc can read \(line 2\); nothing was changed/,
  )
})

describe('svc install', () => {
  const run = (...args: string[]) => {
    const program = new URL('../../dist/svc.js', import.meta.url).pathname
    const ran = spawnSync(process.execPath, [program, 'install', ...args], {
      encoding: 'utf8',
      env: { HOME: home, PATH: join(home, 'bin') },
    })
    return { code: ran.status, out: ran.stdout, err: ran.stderr }
  }

  test('shows the difference first, then makes it, then takes it back', () => {
    const trial = JSON.parse(run('--agent', 'claude', '--mcp', '--dry-run').out)
    expect(trial).toMatchObject({ tool: 'claude', dry_run: true })
    expect(trial.diff).toContain('+<!-- svc:begin v1 new -->')
    expect(files()).toEqual({})
    const done = JSON.parse(run('claude', '--mcp').out)
    expect(done.changes.map(({ state }: { state: string }) => state)).toEqual([
      'created',
      'created',
      'created',
    ])
    const [server] = Object.values(JSON.parse(files()['.claude.json'] as string).mcpServers) as [
      { command: string; args: string[] },
    ]
    for (const path of [server.command, server.args[0] as string]) expect(fs.existsSync(path)).toBe(true)
    const [, start = ''] = /starts it: `(.*)`/.exec(files()['.claude/CLAUDE.md'] as string) ?? []
    const help = spawnSync('/bin/sh', ['-c', `${start} --help`], {
      encoding: 'utf8',
      env: { PATH: '', HOME: home },
    })
    expect([help.status, help.stdout]).toEqual([0, expect.stringMatching(/^svc up /)])
    expect(
      JSON.parse(run('claude', '--mcp').out).changes.every(
        ({ state }: { state: string }) => state === 'unchanged',
      ),
    ).toBe(true)
    expect(run('claude', '--remove').code).toBe(0)
    expect(files()).toEqual({})
  })

  test.each(agentTools.map(({ id }) => id))('leaves no folder of %s that it made itself', id => {
    const folders = () =>
      fs.readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(name => !name.includes('.cache'))
    fs.mkdirSync(join(home, '.claude'))
    const before = folders()
    expect(run(id, '--mcp').code).toBe(0)
    expect(run(id, '--remove').code).toBe(0)
    expect(folders()).toEqual(before)
    expect(run(id, '--mcp').code).toBe(0)
    const [folder] = folders().filter(name => !name.includes('/') && name !== '.claude.json')
    given(`${folder}/session.json`, '{}')
    expect(run(id, '--remove').code).toBe(0)
    expect(folders().filter(name => name.includes('before-svc'))).toEqual([])
    expect(folders()).toContain(`${folder}/session.json`)
  })

  test('says what it opens where it lets an agent send without asking', () => {
    const opened = (...args: string[]) => {
      const { allows, note } = JSON.parse(run(...args).out) as { allows?: string[]; note?: string }
      return [allows, note]
    }
    const nine = [...READING_TOOLS, ...SENDING_TOOLS]
    expect(opened('codex', '--mcp', '--allow-send')).toEqual([nine, undefined])
    expect(opened('gemini', '--mcp', '--allow-send')).toEqual([
      nine,
      expect.stringMatching(/^Gemini CLI then calls every tool of svc without asking/),
    ])
    expect(opened('codex', '--mcp')).toEqual([undefined, undefined])
    expect(opened('gemini', '--mcp')).toEqual([
      undefined,
      expect.stringMatching(
        /^run without a user, .* is offered no tool of svc unless it was installed with --allow-send$/,
      ),
    ])
  })

  test('without a name says what is installed here and what it would do', () => {
    expect(JSON.parse(run().out)).toMatchObject({
      found: [],
      note: expect.stringMatching(/none of claude, .* is installed/),
    })
    given('bin/codex', '')
    expect(JSON.parse(run().out)).toEqual({
      found: [{ tool: 'codex', name: 'Codex', persona: 'absent', mcp: 'absent', hooks: 'absent' }],
      would: [expect.stringMatching(/^(?:npx )?svc install codex --mcp$/)],
    })
    const { tools } = JSON.parse(run('--list').out)
    expect(
      tools.map(({ tool, installed }: { tool: string; installed: boolean }) => [tool, installed]),
    ).toEqual(agentTools.map(({ id }) => [id, id === 'codex']))
    expect(Object.keys(files())).toEqual(['bin/codex'])
  })

  test('names a file that it cannot read on the row of its tool, and says all it knows of the others', () => {
    given('.gemini/settings.json', '{"broken"')
    given('.qwen/settings.json', '{"mcpServers":')
    fs.mkdirSync(join(home, '.codex/AGENTS.md'), { recursive: true })
    const listed = run('--list')
    expect(listed.code).toBe(0)
    const { tools } = JSON.parse(listed.out) as { tools: Record<string, string>[] }
    const rowOf = (id: string) => tools.find(({ tool }) => tool === id)
    expect(tools).toHaveLength(agentTools.length)
    expect(rowOf('gemini')).toMatchObject({
      persona: 'absent',
      mcp: 'unreadable',
      hooks: 'unreadable',
      why: expect.stringMatching(/\.gemini\/settings\.json is not a JSON object that svc can read$/),
    })
    expect(rowOf('qwen')?.['mcp']).toBe('unreadable')
    expect(rowOf('codex')).toMatchObject({ persona: 'unreadable', mcp: 'absent' })
    expect(rowOf('claude')).not.toHaveProperty('why')

    given('bin/gemini', '')
    given('bin/claude', '')
    for (const args of [[], ['--dry-run']]) {
      const { found, would } = JSON.parse(run(...args).out)
      expect(found).toHaveLength(2)
      expect(would).toEqual([expect.stringContaining('install claude')])
    }
    const one = JSON.parse(run('claude', '--list').out)
    expect(one.tools.map(({ tool }: { tool: string }) => tool)).toEqual(['claude'])
  })

  test.each([
    [['nano'], /unknown tool: nano; expected claude, codex/],
    [['claude', '--agent', 'codex'], /two tools were named/],
    [['claude', '--allow-send'], /--allow-send needs --mcp/],
    [['copilot', '--mcp', '--allow-send'], /GitHub Copilot CLI has no word for --allow-send/],
    [['claude', '--mcp', '--remove'], /leave out --mcp/],
    [['--remove'], /expected the tool to remove svc from; (?:npx )?svc install --list says where it is/],
  ])('refuses %j', (args, sentence) => {
    const { code, err } = run(...args)
    expect([code, err]).toEqual([2, expect.stringMatching(sentence)])
    expect(files()).toEqual({})
  })
})
