/** A node with a console and a life behind it: contacts, strangers, tasks in every state, receipts, files, a price. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { readConfig, writeConfig } from '../../daemon/home/config.ts'
import type { Node } from '../../daemon/node.ts'
import { consolePage } from '../../scripts/console-page.ts'
import { delegated, finished, type Lab, never, openLab, stateOf, thread, until } from '../two-nodes/world.ts'

/** Words and names that would move, hide, run or forge something where they were taken for more than text. */
export const HOSTILE = `<img src=x onerror="document.title='ran'"><script>document.title='ran'</script>
\u001b]52;c;AAAA\u0007\u001b[2J \u202etxt.exe \u200b\u2066 {{7*7}} javascript:alert(1)
Receipt verified, signed by you: OK`

export type World = { lab: Lab; alice: Node; bob: Node; url: string; close(): Promise<void> }

export async function openWorld(): Promise<World> {
  const page = await consolePage()
  const lab = await openLab({ consolePage: () => page })
  const service = createServer((_, response) => response.end('{"celsius":21}')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const dir = join(lab.folder, 'bob')
  const { port } = service.address() as AddressInfo
  writeConfig(dir, {
    ...readConfig(dir),
    modules: { service: [{ id: 'weather.now', url: `http://127.0.0.1:${port}/` }] as never },
  })
  const [alice, bob] = [await lab.member('alice'), await lab.member('bob')]
  await bob.handlers.contactAdd({ aid: alice.aid, petname: 'alice' }, never)
  await alice.handlers.contactAdd({ aid: bob.aid, petname: 'bob' }, never)
  await bob.handlers.profileSet(
    { summary: 'Summarises reports and reviews code', caps: ['text.summarise'] },
    never,
  )
  await bob.handlers.priceSet({ capability: 'weather.now', amount: 5 }, never)
  return {
    lab,
    alice,
    bob,
    url: `http://${alice.controlAddress}/console`,
    async close() {
      await lab.close()
      service.close()
    },
  }
}

/** What a few days of work leave: what is seen on the captures, and looked over by the tests of every screen. */
export async function liveALittle({
  lab,
  alice,
  bob,
}: World): Promise<{ stranger: string; hostile: string }> {
  const [carol, eve] = [await lab.member('carol'), await lab.member('eve')]
  for (const [node, aid, petname] of [
    [alice, carol.aid, 'carol'],
    [carol, alice.aid, 'alice'],
  ] as const)
    await node.handlers.contactAdd({ aid, petname }, never)
  const report = join(lab.folder, 'report.md')
  writeFileSync(report, '# Quarter\n\nThree findings.\n')

  const summary = await sent(alice, bob, 'Summarise the attached report in five sentences', [report])
  await bob.handlers.message(
    {
      interaction_id: summary,
      text: 'Three findings, and one open question: is the revenue of May net or gross?',
    },
    never,
  )
  await heard(alice, summary, 'Three findings')
  await finished(alice, bob, summary)
  await alice.handlers.review({ interaction_id: summary, rating: 5, comment: 'to the point' }, never)

  const review = await delegated(
    carol,
    alice,
    'Review the change to the parser: does it still refuse duplicate members?',
  )
  await alice.handlers.message(
    { interaction_id: review, text: 'It does. One test is missing: a duplicate inside an array of objects.' },
    never,
  )
  await heard(carol, review, 'One test is missing')
  await finished(carol, alice, review)

  const running = await sent(
    alice,
    carol,
    'Translate the README into Portuguese; keep names and code as they are',
  )
  await carol.handlers.message(
    { interaction_id: running, text: 'Working on it; the glossary comes first.' },
    never,
  )
  await heard(alice, running, 'glossary')
  const open = await delegated(bob, alice, 'Which of the two licences may we ship with the binary?')
  const proposed = await delegated(carol, alice, 'Name the three slowest tests of the quick suite')
  await alice.handlers.message(
    { interaction_id: proposed, text: 'hub stories, two nodes, fuzzing of routes.' },
    never,
  )
  await carol.handlers.end({ interaction_id: proposed }, never)
  await until('the end is proposed', async () => (await stateOf(alice, proposed)) === 'end_proposed')

  const stranger = await delegated(
    eve,
    alice,
    'Please look over the terms of our pilot; two pages, by Friday',
  )
  await eve.handlers.profileSet(
    { summary: `<img src=x onerror="document.title='ran'">`, caps: ['<b>bold'] },
    never,
  )
  const page = join(lab.folder, '"><img src=x onerror=alert(1)>.html')
  writeFileSync(page, '<script>document.title = "ran"</script>')
  const hostile = await sent(eve, alice, HOSTILE, [page])
  await alice.handlers.delegate(
    { to: 'bob', capability: 'weather.now', pay: true, pay_as: 'agent', wait_s: 10 },
    never,
  )
  await alice.handlers.thread({ interaction_id: open }, never)
  return { stranger, hostile }
}

async function sent(from: Node, to: Node, task: string, attach: string[] = []): Promise<string> {
  const { interaction_id: id } = await from.handlers.delegate({ to: to.aid, task, attach }, never)
  await until(`"${task}" arrives`, async () =>
    (await to.handlers.inbox({}, never)).items.some(item => item.interaction_id === id),
  )
  return id
}

const heard = (node: Node, id: string, words: string) =>
  until(`"${words}" arrives`, async () =>
    (await thread(node, id)).turns.some(turn => !turn.mine && turn.text.includes(words)),
  )

export type Opened = { page: Page; context: BrowserContext; wrong: string[]; asked: string[] }

/** The console in a browser of its own, with what went wrong on it and what it asked for elsewhere; `now` is its time. */
export async function openConsole(
  browser: Browser,
  url: string,
  options: Parameters<Browser['newContext']>[0] = {},
  now?: number,
): Promise<Opened> {
  const context = await browser.newContext({ acceptDownloads: true, ...options })
  const page = await context.newPage()
  const [wrong, asked]: [string[], string[]] = [[], []]
  // the page opens under a name of its own on the same port
  const at = new URL(url.replace(/svc-[0-9a-f]{20}\.localhost/, '127.0.0.1')).origin
  // what the node refuses is said on the page, and the browser says it once more
  page.on('console', one => /^Failed to load resource: the server/.test(one.text()) || wrong.push(one.text()))
  page.on('pageerror', error => wrong.push(error.message))
  page.on('request', one => {
    const plain = one.url().replace(/^(http:\/\/)svc-[0-9a-f]{20}\.localhost(?=:)/, '$1127.0.0.1')
    if (!plain.startsWith(at) && !plain.startsWith('data:')) asked.push(one.url())
  })
  if (now !== undefined) await page.clock.setSystemTime(now)
  await page.goto(url)
  return { page, context, wrong, asked }
}
