/** Captures of the console for the documents: a node with some days of work behind it, at two sizes, light and dark. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Node } from '../../daemon/node.ts'
import { startBrowser } from '../browser.ts'
import { delegated, finished, never, thread, until } from '../two-nodes/world.ts'
import { openConsole, openWorld, type World } from './world.ts'

const HOUR_MS = 3_600_000
const sizes = { wide: { width: 1080, height: 600 }, phone: { width: 360, height: 700 } } as const
type Size = keyof typeof sizes
type Scheme = 'light' | 'dark'

type Capture = {
  name: string
  looks: readonly (readonly [Size, Scheme])[]
  go: (page: Page) => Promise<void>
}

const captures: readonly Capture[] = [
  {
    name: 'thread',
    looks: [
      ['wide', 'light'],
      ['phone', 'dark'],
    ],
    go: openSummary,
  },
  {
    name: 'receipt',
    looks: [
      ['wide', 'dark'],
      ['phone', 'light'],
    ],
    async go(page) {
      await openSummary(page)
      await page.getByRole('button', { name: 'Verify' }).first().click()
      await page.locator('.verdict').scrollIntoViewIfNeeded()
      await page.locator('.said.unseen').waitFor({ state: 'attached' })
    },
  },
  {
    name: 'stranger',
    looks: [
      ['wide', 'light'],
      ['phone', 'dark'],
    ],
    async go(page) {
      await visit(page, '#/inbox')
      await page.locator('.rows .row').filter({ hasText: 'terms of our pilot' }).click()
      await page.getByRole('button', { name: 'Take this task' }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'evidence',
    looks: [
      ['wide', 'dark'],
      ['phone', 'light'],
    ],
    async go(page) {
      await visit(page, '#/evidence')
      await page.locator('figure svg').waitFor()
      await page.locator('.card tbody tr').first().waitFor()
    },
  },
  {
    name: 'agents',
    looks: [['wide', 'light']],
    async go(page) {
      await visit(page, '#/agents')
      await page.locator('figure svg').waitFor()
    },
  },
  {
    name: 'node',
    looks: [['wide', 'dark']],
    async go(page) {
      await visit(page, '#/node')
      await page.locator('.attention').waitFor()
      await page.locator('figure svg').first().waitFor()
    },
  },
]

async function openSummary(page: Page): Promise<void> {
  await visit(page, '#/sent')
  await page.locator('.rows .row').filter({ hasText: 'Thank you' }).click()
  await page.locator('.signatures').waitFor()
}

async function visit(page: Page, place: string): Promise<void> {
  await page.evaluate(hash => {
    location.hash = hash
  }, place)
  await page.locator('#list-title').waitFor()
}

/** Writes the captures into a folder, which are looked at before they are committed. */
export async function captureConsole(folder: string): Promise<void> {
  const world = await openWorld()
  const browser = await startBrowser()
  await liveForDays(world)
  for (const { name, looks, go } of captures)
    for (const [size, colorScheme] of looks) {
      const now = world.lab.hub.clock.now()
      const options = { viewport: sizes[size], colorScheme, reducedMotion: 'reduce' as const }
      const { page, context } = await openConsole(browser, world.url, options, now)
      await page.locator('.rows .row').first().waitFor()
      await go(page)
      await page.mouse.move(0, 0)
      await page.screenshot({ path: join(folder, `console-${name}-${size}-${colorScheme}.png`) })
      await context.close()
    }
  await browser.close()
  await world.close()
}

/** Some days of work with three others. */
async function liveForDays({ lab, alice, bob }: World): Promise<void> {
  const [carol, dora] = [await lab.member('carol'), await lab.member('dora')]
  const friends: readonly [Node, string][] = [
    [bob, 'bob'],
    [carol, 'carol'],
    [dora, 'dora'],
  ]
  for (const [node, petname] of friends.slice(1)) {
    await alice.handlers.contactAdd({ aid: node.aid, petname }, never)
    await node.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  }
  await carol.handlers.profileSet(
    { summary: 'Translates between English, German and Portuguese', caps: ['text.translate'] },
    never,
  )
  await dora.handlers.profileSet(
    { summary: 'Unsafe Rust and FFI, one file at a time', caps: ['code.review'] },
    never,
  )
  const report = join(lab.folder, 'report.md')
  writeFileSync(report, '# Quarter\n\nThree findings.\n'.repeat(300))

  await done(dora, alice, 'Does the parser still refuse duplicate members?', 'It does, at every depth.')
  await done(alice, carol, 'Translate the release notes into German', 'Done; two terms stay English.')
  lab.hub.clock.advance(26 * HOUR_MS)
  await done(alice, bob, 'Which of our licences go together?', 'All but one: the fonts.')
  const proposed = await delegated(carol, alice, 'Name the three slowest tests of the quick suite')
  await say(alice, carol, proposed, 'Hub stories, two nodes, fuzzing of routes.')
  await carol.handlers.end({ interaction_id: proposed }, never)
  lab.hub.clock.advance(23 * HOUR_MS)
  const summary = await sentWith(alice, bob, 'Summarise the attached report in five sentences', report)
  await say(bob, alice, summary, 'Three findings, and one open question: is the revenue of May net or gross?')
  await say(alice, bob, summary, 'Net. Thank you, that is all.')
  await finished(alice, bob, summary)
  await alice.handlers.review({ interaction_id: summary, rating: 5 }, never)
  const running = await delegated(
    alice,
    carol,
    'Translate the README into Portuguese; keep names and code as they are',
  )
  await say(carol, alice, running, 'Working on it; the glossary comes first.')
  await delegated(bob, alice, 'Which of the two licences may we ship with the binary?')
  const eve = await lab.member('eve')
  await delegated(eve, alice, 'Please look over the terms of our pilot; two pages, by Friday')
  await alice.handlers.delegate(
    { to: 'bob', capability: 'weather.now', pay: true, pay_as: 'agent', wait_s: 10 },
    never,
  )
}

async function say(from: Node, to: Node, id: string, text: string): Promise<void> {
  await from.handlers.message({ interaction_id: id, text }, never)
  await until(`"${text}" arrives`, async () => (await thread(to, id)).turns.some(turn => turn.text === text))
}

async function done(requester: Node, provider: Node, task: string, answer: string): Promise<void> {
  const id = await delegated(requester, provider, task)
  await say(provider, requester, id, answer)
  await finished(requester, provider, id)
}

async function sentWith(from: Node, to: Node, task: string, path: string): Promise<string> {
  const { interaction_id: id } = await from.handlers.delegate({ to: to.aid, task, attach: [path] }, never)
  await until('it arrives with its file', async () =>
    (await to.handlers.inbox({}, never)).items.some(item => item.interaction_id === id),
  )
  return id
}
