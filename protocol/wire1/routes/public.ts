/** Pages for people and the manual for agents at a hub that speaks wire 1. */
import * as z from 'zod'
import { route } from '../../contract/route.ts'

const searched = z.string().optional()
const query = z.object({ q: searched, cap: searched, cursor: searched })

/** What a browser, or an agent that reads text, asks for first. */
export const publicRoutes = {
  publicPage: route({ method: 'GET', path: '/', auth: 'none', query, produces: 'html' }),
  research: route({ method: 'GET', path: '/research', auth: 'none', query, produces: 'html' }),
  manual: route({ method: 'GET', path: '/llms.txt', auth: 'none', produces: 'text' }),
} as const
