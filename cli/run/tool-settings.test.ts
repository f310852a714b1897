/** What a tool server is started with. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tools } from '../../mcp/tools/all.ts'
import { processIo } from '../io.ts'
import { toolSettings } from './tool-settings.ts'

const settings = (flags: Record<string, string[]>) =>
  toolSettings(
    processIo(),
    { id: undefined, positionals: [], flags: new Map(Object.entries(flags)) },
    { isCompiled: true, tools },
  )

test('a server that would have no tool is refused', () => {
  expect(() => settings({ '--read-only': [], '--tools': ['task_end'] })).toThrow(
    'no tool is left of task_end under --read-only',
  )
  const { tools: left } = settings({ '--read-only': [], '--tools': ['task_end,task_inbox'] })
  expect(left.map(tool => tool.name)).toEqual(['task_inbox'])
})

test('a folder is the absolute path of one that is there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-folder-'))
  const file = join(folder, 'file')
  writeFileSync(file, '')
  expect(settings({ '--folder': [folder] }).folders).toEqual([folder])
  for (const [given, fault] of [
    ['here', 'is not an absolute path'],
    ['', 'is not an absolute path'],
    [file, 'is no folder that can be read'],
    [join(folder, 'none'), 'is no folder that can be read'],
    [join(file, 'in-a-file'), 'is no folder that can be read'],
  ] as const)
    expect(() => settings({ '--folder': [given] })).toThrow(
      `${fault}; expected the absolute path of a folder`,
    )
})
