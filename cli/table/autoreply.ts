/** Commands for what answers by itself. */
import type { CommandRow, Flag } from '../command.ts'
import { many, may, on, takes } from './row.ts'

const agents = () => import('../commands/agents.ts')

/** What answers, and how it is asked. */
const backendFlags: readonly Flag[] = [
  takes(
    '--backend',
    'exec|openai',
    'exec runs a program, openai asks a server; follows from the other flags',
    ['exec', 'openai'],
  ),
  takes('--agent', 'TOOL', 'a coding agent: claude, codex, gemini, opencode, openclaw, copilot or qwen'),
  takes('--work-dir', 'DIR', 'folder in which each run gets an empty one; else below the data directory'),
  takes('--openclaw-agent', 'ID', 'with --tools: which agent of openclaw answers'),
  takes('--model', 'MODEL', 'name of the model'),
  takes('--provider-url', 'URL', 'server of models for codex, opencode or openclaw, up to /v1'),
  takes('--provider-key-env', 'NAME', 'variable of the node that holds its key'),
  many('--extra-arg', 'ARG', 'one more argument for the program'),
  takes('--sandbox', 'true|false', 'hold the program in bubblewrap where that works (true)'),
  on('--no-sandbox', 'the same as --sandbox false'),
  takes('--api-base', 'URL', 'address of a chat-completions server, up to /v1'),
  takes('--api-key', 'KEY', 'its key; set keeps it in config.json'),
  takes('--system-prompt', 'TEXT', 'instructions for the model; @path reads a file'),
  takes(
    '--command',
    'COMMAND',
    'a program and its arguments; it reads the whole prompt on standard input and prints the answer: docs/agents.md, "A program of your own"',
  ),
  takes('--api-timeout', 'SECONDS', 'seconds that an answer may take (180)'),
  takes('--tools', 'none|read|write', 'what an agent may do on this machine (none)', [
    'none',
    'read',
    'write',
  ]),
]

export const autoReplyCommands: readonly CommandRow[] = [
  {
    path: 'autoreply show',
    reads: true,
    aliases: ['auto-reply show'],
    group: 'hub',
    needsDaemon: true,
    client: true,
    summary: 'show the auto-reply',
    example: 'svc autoreply show',
    load: async () => (await agents()).show,
  },
  {
    path: 'autoreply set',
    aliases: ['auto-reply set'],
    group: 'hub',
    needsDaemon: true,
    client: true,
    summary: 'answer tasks with an agent, a program or a model; try it before with svc autoreply test',
    flags: [
      ...backendFlags,
      on('--unsafe', 'also an agent that leaked when it was tried; recorded as evidence'),
      takes('--require-image', 'true|false', 'answer only tasks with an image'),
      takes('--usage-hint', 'TEXT', 'what to tell a sender whose task has no image'),
      takes(
        '--error-reply',
        'TEXT',
        'what to tell a sender after the fifth failure, some 150 seconds after the first',
      ),
      takes('--poll-interval', 'SECONDS', 'seconds between two looks for waiting tasks (5)'),
      takes('--max-history', 'TURNS', 'turns that the backend sees, the one to answer among them (20)'),
      takes('--max-auto-replies', 'N', 'answers in one task before the node proposes to end it (30)'),
      takes(
        '--send-files',
        'true|false',
        'send the files that a run leaves in the folder out of its working folder (false)',
      ),
      takes(
        '--strangers',
        'true|false',
        'whether to answer a stranger too, once you have approved the task (false)',
      ),
      takes('--guests', 'true|false', 'whether to answer visitors of a wire-1 hub, without approval (false)'),
    ],
    load: async () => (await agents()).set,
    example: 'svc autoreply set --agent claude',
  },
  {
    path: 'autoreply off',
    aliases: ['auto-reply off'],
    group: 'hub',
    needsDaemon: true,
    client: true,
    summary: 'stop answering',
    example: 'svc autoreply off',
    load: async () => (await agents()).off,
  },
  {
    path: 'autoreply test',
    reads: true,
    aliases: ['auto-reply test'],
    group: 'hub',
    needsDaemon: true,
    client: true,
    summary:
      'ask what answers once, or what svc autoreply set would make of these flags; sends and keeps nothing',
    positionals: [may('question', 'what to ask; without it a greeting')],
    flags: [
      ...backendFlags,
      on('--attack', 'attack the coding agent instead, as a task could, and say what leaks'),
    ],
    example: 'svc autoreply test --agent claude "Are you there?"',
    load: async () => (await agents()).test,
  },
]
