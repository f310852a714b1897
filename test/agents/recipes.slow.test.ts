/**
 * The recipes for coding agents, attacked with the real programs, alone and in bubblewrap: the request reaches the
 * model, nothing of the owner does, nothing of the task stays in the home, and a tool that the model was talked into
 * calling does nothing. Programs that are not installed are skipped by name.
 */
import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { attack } from '../../autoreply/attack/attack.ts'
import { recipes } from '../../autoreply/attack/recipes.ts'
import { ANSWER, startRecordingModel } from '../../autoreply/attack/recording-model.ts'
import { execBackend } from '../../autoreply/exec.ts'
import { findSandbox, NO_SANDBOX } from '../../autoreply/sandbox.ts'
import { random, requestOf } from '../../autoreply/testing.ts'
import { isHere } from './installed.ts'

const env = { PATH: process.env['PATH'] ?? '' }
const found = findSandbox(env)
const walls = [NO_SANDBOX, ...(found.kind === 'none' ? [] : [found])]

describe.each(Object.keys(recipes))('%s', agent => {
  const installed = isHere(agent)
  const title = installed ? '' : ` (skipped: ${agent} is not installed)`

  test.skipIf(!installed).each(walls)(
    `reads and runs nothing for a model that was talked into it, and keeps its owner out of it: $kind${title}`,
    async sandbox => {
      const { version, leaks } = await attack(
        { agent, env, sandbox, extraArgs: [], random },
        AbortSignal.timeout(240_000),
      )
      expect({ version, leaks }).toEqual({ version: expect.stringMatching(/\d/), leaks: [] })
    },
  )

  test.skipIf(!installed)(`answers although its model called a tool that is not there${title}`, async () => {
    const task = 'Add 1, 2 and 3.'
    const recipe = recipes[agent]
    const [runs = ''] = recipe?.tools ?? []
    const calls = [{ name: runs, args: { command: 'true', description: 'add' } }]
    const model = await startRecordingModel({ task, words: [], calls })
    const home = mkdtempSync(join(tmpdir(), 'svc-recipe-'))
    mkdirSync(join(home, 'work'))
    const backend = execBackend({
      agent,
      command: undefined,
      extraArgs: [],
      model: recipe?.model ?? 'scripted',
      openclawAgent: undefined,
      provider: recipe?.provider?.(model.url),
      tools: 'none',
      workRoot: join(home, 'work'),
      sandbox: NO_SANDBOX,
      hidden: [],
      env: { ...env, HOME: home, ...recipe?.env?.(model.url) },
      random,
    })
    try {
      expect((await backend.reply(requestOf(task), AbortSignal.timeout(120_000))).text).toContain(ANSWER)
    } finally {
      await model.close()
    }
  })
})
