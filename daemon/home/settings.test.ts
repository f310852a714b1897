/** Changes of the configuration beside edits of its file: neither undoes the other. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfig, writeConfig } from './config.ts'
import { Settings } from './settings.ts'

const service = { service: [{ id: 'sensor.temperature', url: 'http://127.0.0.1:8801/' }] }

let dir: string
let changes: number
let settings: Settings
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'svc-settings-'))
  writeConfig(dir, { name: 'bob', summary: 'first', accept_delegations: true })
  changes = 0
  settings = new Settings(dir, () => (changes += 1))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const file = () => join(dir, 'config.json')
const edit = (members: object) =>
  writeFileSync(file(), JSON.stringify({ ...JSON.parse(readFileSync(file(), 'utf8')), ...members }))

test('a change keeps what was edited in the file since the start', () => {
  edit({ modules: service, summary: 'by hand' })
  settings.change({ accept_delegations: false })
  expect(readConfig(dir)).toMatchObject({ modules: service, summary: 'by hand', accept_delegations: false })
  expect(settings.current).toMatchObject({ summary: 'first', accept_delegations: false })
  expect(settings.current.modules).toBeUndefined()
  settings.change({ summary: 'by command' })
  expect(readConfig(dir)).toMatchObject({ modules: service, summary: 'by command' })
})

test('what was edited is named until a start reads it', () => {
  expect(settings.editedWarning()).toBeUndefined()
  settings.change({ name: 'carol' })
  expect(settings.editedWarning()).toBeUndefined()
  edit({ modules: service, guest_messages: 7 })
  expect(settings.editedWarning()).toMatch(
    /^config\.json was edited since the start: guest_messages, modules; restart the node to use it/,
  )
  expect(new Settings(dir, () => undefined).editedWarning()).toBeUndefined()
})

test.each(['{', '{"nmae":"x"}'])('beside a file that holds %s nothing is changed', content => {
  writeFileSync(file(), content)
  const refused = expect.objectContaining({
    code: 'wrong_state',
    message: expect.stringMatching(/^config\.json.*nothing was changed; mend it/),
  })
  expect(() => settings.change({ name: 'carol' })).toThrow(refused)
  expect([readFileSync(file(), 'utf8'), settings.current.name, changes]).toEqual([content, 'bob', 0])
  expect(settings.editedWarning()).toMatch(/^config\.json: .*no node would start with it: config\.json/)
})

test('a block that was edited is not made anew of the one in use', () => {
  edit({ prices: { 'text.summarise': 5 } })
  expect(() => settings.change({ prices: { 'sensor.temperature': 1 } })).toThrow(
    'config.json was edited since the start: prices; restart the node to use it',
  )
  expect(readConfig(dir).prices).toEqual({ 'text.summarise': 5 })
})

test('a file that was taken away is made again of what is in use', () => {
  rmSync(file())
  expect(settings.editedWarning()).toBeUndefined()
  settings.change({ summary: 'second' })
  expect(readConfig(dir)).toMatchObject({ name: 'bob', summary: 'second' })
})
