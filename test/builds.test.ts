// project: programs

/** Builds with all modules, with some and with none, as programs: what `version` lists is what a node serves. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { MODULES, OPT_IN } from '../scripts/build-modules.ts'

const root = new URL('..', import.meta.url).pathname
const node = (words: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, words, {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...env },
  })

/** A sentence of each module that stands in it alone. */
const SENTENCES = {
  service: 'the service cannot be reached',
  cas: 'there is no such content here',
  blackboard: 'waits for a note to be newer',
  org: 'a value for members of the organisation',
  taskboard: 'marks a card as waiting for something else',
  svclink: 'no device socket',
  mcp: 'its client does not read standard output any more',
  x402: 'the payment is to somebody else',
  p2p: 'who answers there is not the recipient',
  shell: 'the shell module lets nobody call',
} as const

const builds = [
  { modules: 'all', names: [...MODULES, ...OPT_IN], says: [...MODULES, ...OPT_IN].join(', ') },
  { modules: 'the usual', names: [...MODULES], says: MODULES.join(', ') },
  { modules: 'blackboard,cas', names: ['cas', 'blackboard'], says: 'cas, blackboard' },
  { modules: 'none', names: [], says: '(none)' },
] as const

describe.each(builds)('a build with $modules modules', ({ modules, names, says }) => {
  const dist = mkdtempSync(join(tmpdir(), 'svc-build-'))
  const svc = (...words: string[]) => node([join(dist, 'svc.js'), ...words], { SVC_HOME: join(dist, 'home') })

  test('is what it says, and serves what it has', async () => {
    const choice = modules === 'the usual' ? [] : ['--modules', modules]
    const built = node(['scripts/build.ts', ...choice, '--dist', dist])
    expect([built.status, built.stderr]).toEqual([0, ''])
    expect(JSON.parse(svc('version').stdout)).toMatchObject({ modules: says })

    const [folder = ''] = readdirSync(dist).filter(name => name.startsWith('build-'))
    const text = readdirSync(join(dist, folder))
      .filter(name => name.endsWith('.js'))
      .map(name => readFileSync(join(dist, folder, name), 'utf8'))
      .join('\n')
      // a long line goes on behind a backslash
      .replaceAll('\\\n', '')
    const found = Object.entries(SENTENCES).filter(([, sentence]) => text.includes(sentence))
    expect(found.map(([name]) => name).sort()).toEqual([...names].sort())

    for (const words of [['mcp'], ['daemon', '--stdio']]) {
      if ((names as readonly string[]).includes('mcp')) break
      const { status, stderr } = svc(...words)
      expect([status, stderr.split('\n')[0]]).toEqual([
        1,
        expect.stringContaining('this build has no MCP support'),
      ])
    }
    const up = svc('up')
    expect(up.status, up.stderr).toBe(0)
    const direct = [
      ['p2p', 'serve', '--listen', '256.0.0.1:1'],
      ['p2p', 'on'],
      ['p2p-advertise', 'a.example:1'],
    ]
    const lacksDirect = direct.filter(words =>
      svc(...words).stderr.includes('this build has no direct-connection support\ntry: svc version'),
    )
    expect(lacksDirect).toEqual((names as readonly string[]).includes('p2p') ? [] : direct)
    const { data_dir } = JSON.parse(svc('status').stdout) as { data_dir: string }
    svc('stop')
    const config = {
      control_addr: '127.0.0.1:0',
      modules: { cas: {}, org: { members: [], values: { a: 'b' } } },
      p2p: { send: true },
    }
    writeFileSync(join(data_dir, 'config.json'), JSON.stringify(config))
    expect(svc('up').status).toBe(0)
    const listed = JSON.parse(svc('capability', 'ls').stdout) as { capabilities: { module: string }[] }
    const serving = new Set(listed.capabilities.map(({ module }) => module))
    expect([...serving].sort()).toEqual(names.filter(name => name === 'cas' || name === 'org').sort())
    const { warnings } = JSON.parse(svc('status').stdout) as { warnings: string[] }
    const idle = ['cas', 'org'].filter(name => !(names as readonly string[]).includes(name))
    expect(warnings.some(one => one.includes('no effect in this build'))).toBe(idle.length > 0)
    for (const name of idle) expect(warnings.join()).toContain(`modules.${name}`)
    expect(warnings.some(one => /\bp2p\b.*no effect in this build/.test(one))).toBe(lacksDirect.length > 0)
    expect(svc('stop').status).toBe(0)
  })
})

test('a module that is not there is refused with those that are', () => {
  const { status, stderr } = node(['scripts/build.ts', '--modules', 'printer'])
  expect(status).not.toBe(0)
  expect(stderr).toContain('there is no module "printer"; give --modules all, none or some of service, cas')
})
