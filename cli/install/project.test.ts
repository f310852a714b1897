/** `svc install --project`: the files of one project alone, under one identity of its own. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Launch } from './agents.ts'
import { keepBackup, leaveFolders, readText, writeText } from './files.ts'
import { rememberIdentity } from './known-projects.ts'
import { planInstall, planRemoval } from './plan.ts'
import { projectAt } from './project.ts'

const launch: Launch = { command: '/opt/node', program: '/opt/svc.js', id: undefined, env: {} }
const all = { mcp: true, allowSend: false, hooks: true }
let home: string
let folder: string
const env = () => ({ HOME: home, SVC_HOME: join(home, '.svc') })

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-home-')))
  folder = join(home, 'My Project')
  mkdirSync(folder)
})

const at = (cwd = folder, id?: string) => projectAt(cwd, env(), { ...launch, id })

function installed(id: string, wish = all) {
  const project = at()
  const tool = project.tools.find(one => one.id === id)
  if (tool === undefined) throw new Error(`no tool ${id}`)
  const hooks = tool.hooks !== undefined && wish.hooks
  for (const { path, before, after, backup } of planInstall(
    tool,
    env(),
    { ...launch, id: project.id },
    { ...wish, hooks },
  )) {
    if (before === after) continue
    if (backup) keepBackup(path, tool.root)
    writeText(path, after, tool.root)
  }
  rememberIdentity(project.root, project.id)
  return { tool, id: project.id }
}

const files = () =>
  (readdirSync(folder, { recursive: true }) as string[])
    .filter(name => !name.endsWith('.before-svc') && statSync(join(folder, name)).isFile())
    .sort()

describe.each(['claude', 'codex', 'gemini', 'opencode', 'copilot', 'qwen'])('%s', id => {
  test('writes into the project alone, with the identity of the project, and takes all of it out again', () => {
    writeFileSync(join(folder, 'README.md'), 'mine')
    const { tool, id: identity } = installed(id)
    expect(readdirSync(home).filter(name => name !== '.svc')).toEqual(['My Project'])
    expect(readdirSync(join(home, '.svc'))).toEqual(['projects'])
    const texts = files()
      .map(name => readText(join(folder, name)) ?? '')
      .join('\n')
    expect(texts).toContain('"My-Project"')
    expect(identity).toBe('My-Project')
    const changes = planRemoval(tool, env(), { ...launch, id: identity })
    for (const { path, before, after } of changes) {
      if (before !== after) writeText(path, after, tool.root)
    }
    leaveFolders(
      changes.map(({ path }) => path),
      tool.root,
    )
    expect(readdirSync(folder)).toEqual(['README.md'])
  })
})

describe('the identity of a project', () => {
  test('is one for all agents of it, and stays when they are installed again', () => {
    installed('claude')
    mkdirSync(join(home, '.svc', 'ids', 'My-Project'), { recursive: true })
    expect(at().id).toBe('My-Project')
    expect(installed('codex').id).toBe('My-Project')
    expect(readFileSync(join(folder, '.codex', 'config.toml'), 'utf8')).toContain('"My-Project"')
  })

  test('has a name that no other one has', () => {
    mkdirSync(join(home, '.svc', 'ids', 'My-Project'), { recursive: true })
    expect(at().id).toBe('My-Project-2')
    const other = join(home, 'deep', 'My Project')
    mkdirSync(other, { recursive: true })
    expect(at(other).id).toBe('My-Project-2')
  })

  test.each([
    ['ids', 'project-ids'],
    ['default', 'project-default'],
    ['日本', 'project-1'],
    ['.hidden', 'hidden'],
    ['Ärger & Co', 'A-rger-Co'],
    ['x'.repeat(80), 'x'.repeat(40)],
  ])('of the folder %s is %s', (name, id) => {
    const path = join(home, name)
    mkdirSync(path)
    expect(at(path).id).toBe(id)
  })

  test('is the one that was named', () => expect(at(folder, 'work').id).toBe('work'))
})

test('claude may start the server of the project without asking for it first', () => {
  installed('claude')
  const settings = JSON.parse(readFileSync(join(folder, '.claude', 'settings.local.json'), 'utf8'))
  expect(settings.enabledMcpjsonServers).toEqual(['svc'])
  expect(settings.hooks.Stop[0].hooks[0].command).toContain('--id My-Project hook inbox')
})

test('the home is no project, nor is what is above it', () => {
  for (const cwd of [home, '/']) expect(() => at(cwd)).toThrow(/no project; go into the folder/)
})
