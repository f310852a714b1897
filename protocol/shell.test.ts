import fs, { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { callForm, shellWord, withCommands } from './shell.ts'

const home = fs.realpathSync(mkdtempSync(join(tmpdir(), 'svc-form-')))
const at = (...parts: string[]) => join(home, ...parts)
const launcher = at('package', 'bin', 'svc.js')

function put(path: string, mode: number): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, '', { mode })
}

function link(from: string): void {
  mkdirSync(dirname(from), { recursive: true })
  symlinkSync(launcher, from)
}

beforeAll(() => {
  put(launcher, 0o755)
  link(at('global', 'bin', 'svc'))
  link(at('checkout', 'node_modules', '.bin', 'svc'))
  put(at('stranger', 'bin', 'svc'), 0o755)
  put(at('not executable', 'svc'), 0o644)
  mkdirSync(at('checkout', 'docs'), { recursive: true })
})

const form = (cwd: string, path: string[], env: Record<string, string> = {}) =>
  callForm(
    { name: 'svc', launcher, cwd: at(cwd), env: { ...env, PATH: path.map(one => at(one)).join(':') } },
    fs,
  )

describe('a program is called', () => {
  test('by its name where the PATH leads to it', () => {
    expect(form('checkout', ['nowhere', 'not executable', 'global/bin'])).toBe('svc')
  })

  test('through npx in a folder whose packages hold it, and below', () => {
    for (const cwd of ['checkout', 'checkout/docs']) expect(form(cwd, [])).toBe('npx svc')
  })

  test('through npx where npm alone has put it on the PATH', () => {
    const path = ['checkout/node_modules/.bin']
    expect(form('checkout', path)).toBe('svc')
    expect(form('checkout', path, { npm_execpath: '/usr/lib/npm' })).toBe('npx svc')
    expect(form('checkout', path, { npm_lifecycle_event: 'npx' })).toBe('npx svc')
    expect(form('checkout', [...path, 'global/bin'], { npm_lifecycle_event: 'npx' })).toBe('svc')
  })

  test('by its absolute path where the name means another program, or none', () => {
    expect(form('elsewhere', ['stranger/bin', 'global/bin'])).toBe(launcher)
    expect(form('elsewhere', [])).toBe(launcher)
  })

  test('through the runtime where its file cannot be executed', () => {
    const file = at('with space', 'svc.js')
    put(file, 0o644)
    expect(callForm({ name: 'svc', launcher: file, cwd: home, env: {} }, fs)).toBe(`node '${file}'`)
  })

  test('by its name where it is not installed at all', () => {
    expect(callForm({ name: 'svc', launcher: at('gone'), cwd: home, env: {} }, fs)).toBe('svc')
  })
})

test('an argument is one word of a shell whatever stands in it', () => {
  expect(['a/b.c', "it's", '', 'a b'].map(shellWord)).toEqual(['a/b.c', `'it'\\''s'`, `''`, `'a b'`])
})

test('commands in a text stand as they are called, and its other words as they are', () => {
  const known = ['up', 'id ls', '--id bob']
  const called = (text: string) =>
    withCommands(text, 'svc', ({ words, isPlaced }) =>
      known.includes(words.join(' ')) ? `npx svc${isPlaced ? '!' : ''}` : undefined,
    )
  expect(called('svc up')).toBe('npx svc up')
  expect(called('wait; then svc up, or (svc id ls).')).toBe('wait; then npx svc up, or (npx svc id ls).')
  expect(called('SVC_HOME=/x svc up')).toBe('SVC_HOME=/x npx svc! up')
  expect(called(`SVC_HOME='/x y' svc up`)).toBe(`SVC_HOME='/x y' npx svc! up`)
  expect(called('npx svc up')).toBe('npx svc up')
  expect(called('SVC_HOME=/x npx svc up')).toBe('SVC_HOME=/x npx svc! up')
  expect(called('see svc up and then svc id ls')).toBe('see svc up and then npx svc id ls')
  for (const text of ['npx svc', 'the svc node', 'svc-hub up', '/bin/svc up', 'x.svc up', 'svc upper', 'svc'])
    expect(called(text)).toBe(text)
})
