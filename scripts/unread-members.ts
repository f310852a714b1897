/** Part of `npm run dead`: members of types and classes of the product that nobody reads. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { unreadMembers } from './code/unread-members.ts'

const root = new URL('..', import.meta.url).pathname
const listed = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx'],
  {
    cwd: root,
    encoding: 'utf8',
  },
)
const paths = listed.split('\n').filter(path => path !== '' && !/^(?:bench|examples|fixtures)\//.test(path))
const sources = new Map(paths.map(path => [path, readFileSync(join(root, path), 'utf8')]))
/** Not tests and tools, and no package that others call. */
const isProduct = (path: string): boolean =>
  /^(?:protocol|hub|daemon|autoreply|mcp|view|tui|console|cli)\//.test(path) &&
  !/\.test\.tsx?$|(^|\/)testing(\.ts$|\/)|\.d\.ts$/.test(path)

/** Types of what leaves as text: messages of A2A, what MCP says of a tool, what an agent was tried with. */
const carrying = ['daemon/a2a/shapes.ts', 'mcp/tool.ts', 'daemon/tasks/agent-trials.ts']
/** Read by tests alone; the list only shrinks. */
const open = ['need']

const found = unreadMembers(sources, {
  declares: isProduct,
  isCarried: ({ path, name }) => /[a-z]_[a-z]/.test(name) || carrying.includes(path) || open.includes(name),
})
for (const { path, line, name } of found) console.log(`${path}:${line} ${name} is read by nobody`)
process.exitCode = found.length > 0 ? 1 : 0
