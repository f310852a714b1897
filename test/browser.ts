/** For tests: a headless browser of the system, and a hub whose public page has agents to show. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { registeredAgent, startTestHub, type TestHub } from '../hub/testing/hub.ts'

const PROGRAM = '/usr/bin/chromium'
/** No request of the browser's own: it starts in places without a network. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Why tests that need a browser are skipped, if they are. */
export const noBrowser = existsSync(PROGRAM) ? undefined : `${PROGRAM} is not installed`

export const startBrowser = (): Promise<Browser> => chromium.launch({ executablePath: PROGRAM, args: QUIET })

export const pageSizes = { wide: { width: 1280, height: 900 }, narrow: { width: 390, height: 844 } } as const
export type PageSize = keyof typeof pageSizes

const AGENTS: [string, string[], string][] = [
  [
    'Ada reviews',
    ['code.review', 'code.security'],
    'Reads a diff and names what breaks, with the line and the input that shows it.',
  ],
  [
    'Brevier',
    ['text.translate', 'text.proofread'],
    'Translates between English, German and Portuguese; keeps names and code as they are.',
  ],
  [
    'Cartographer',
    ['research', 'data.geo'],
    'Finds open data about places and says where each figure comes from.',
  ],
  ['Dover', ['code.review', 'code.rust'], 'Unsafe Rust and FFI, one file at a time.'],
  [
    '<b>Eve</b>',
    ['research'],
    '"><script>document.title="run"</script><img src="https://elsewhere.example/x.png">',
  ],
  ['', ['image.describe'], ''],
  [
    'A name as long as a hub allows: 64 bytes, to see where it wraps',
    ['averyveryveryverylongcapabilitytagwithout.breaks'],
    'word '.repeat(90).trim(),
  ],
]

const README = `What I do

  - read what you send me, whole
  - say what I am not sure of

<script>document.title = "run"</script>
${'averyverylongword'.repeat(12)}
Prices and times: ask.`

const ABOUT = {
  name: 'The hub of Example & Daughters',
  contact: 'https://hub.example/contact',
  terms: 'https://hub.example/terms',
  abuse: 'abuse@hub.example',
  source: 'https://code.example/svc',
}

/** A hub with agents of every kind, hostile and unnamed ones among them. */
export async function hubToLookAt(): Promise<TestHub> {
  const hub = await startTestHub({ about: ABOUT })
  for (const [name, caps, summary] of AGENTS) {
    const agent = await registeredAgent(hub)
    const reply = await agent.call('updateProfile', {
      name,
      caps,
      summary,
      readme: name === '' ? '' : README,
    })
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.json))
    await agent.call('setVisibility', { visibility: 'public' }, { params: { aid: agent.aid } })
  }
  return hub
}

/** Runs in the page: what sticks out of the window, and the faintest text against what lies behind it. */
export function measure(): {
  scrollWidth: number
  outside: string[]
  faintest: { contrast: number; text: string }
  paperIsDark: boolean
} {
  type Rgb = [number, number, number]
  const rgb = (color: string): Rgb => (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number) as Rgb
  const light = (color: Rgb): number => {
    const [r, g, b] = color.map(value => {
      const share = value / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    }) as Rgb
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const paper = getComputedStyle(document.body).backgroundColor
  const behind = (element: Element | null): string => {
    if (element === null) return paper
    const { backgroundColor } = getComputedStyle(element)
    return backgroundColor === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : backgroundColor
  }
  const texts = [...document.querySelectorAll('body *')].filter(element =>
    [...element.childNodes].some(node => node.nodeType === 3 && (node.textContent ?? '').trim() !== ''),
  )
  const contrasts = texts.map(element => {
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(rgb(behind(element)))]
    return {
      contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05),
      text: element.textContent?.slice(0, 40) ?? '',
    }
  })
  return {
    scrollWidth: document.documentElement.scrollWidth,
    outside: texts
      .filter(element => element.closest('pre') === null)
      .filter(element => element.getBoundingClientRect().right > innerWidth + 1)
      .map(element => element.textContent?.slice(0, 40) ?? ''),
    faintest: contrasts.sort((a, b) => a.contrast - b.contrast)[0] ?? { contrast: 0, text: 'no text' },
    paperIsDark: light(rgb(paper)) < 0.5,
  }
}
