/**
 * Verdicts on the edges of Ed25519, where engines differ: keys and points of small or mixed order, points and numbers
 * that are written in another than their one form. An engine that differs from one of them verifies nothing here.
 */
import { fromBase64url } from '../encoding/bytes.ts'

/** `key` of 32 bytes, `signature` of 64; `holds` is the verdict of objects §3. */
export type GoldenVerdict = {
  name: string
  key: Uint8Array
  signature: Uint8Array
  message: Uint8Array
  holds: boolean
}

/** Verdict, key, signature and message as base64url, and what the case is. */
const cases = `
holds oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 vUey2yBAqplk_p2Y7izd1U3sVbBGao4UGuKO3cZk0HzRcGbcvkM44Z4CMabMvMKqED_vTY8B1sk360_q0pxwDg Z29sZGVuIDA plain
holds Rf7eqML19ctME29LR_KaMEM33dCHdI3ss9k8-wfGdzg ExLxMLhsPz7vsuj906IhlZor54qeomzD5aVRxI8hWFN4g8GxQkfXSZvesH19beRPJ9Dv8w_kgylhElKWJsqGDw Z29sZGVuIDI mixed-order A (+1T), equation holds
fails Rf7eqML19ctME29LR_KaMEM33dCHdI3ss9k8-wfGdzg rj_o80KWua0-Y_Tg_0UtVRCRSc75iO0WulCY4-qwboxXpFxXIuI13-iMVNfA5coXOC-GxFvzJuONCCipZhJ7Dw Z29sZGVuIDA mixed-order A (+1T), holds only times 8
holds vlkqk56P-NPHsnWS-FUy0xPp7s9_4-JKMIdgdBRF_jg sWQpH0TJ8hg2JUBYi7gtALGs2FVXyeQcR-W_AxWyHg2mdQRySLyHb3HtVnDgI8aGa-yPOEJGhSRZ8ZY2Qz6KCQ Z29sZGVuIDI mixed-order A (+2T), equation holds
fails vlkqk56P-NPHsnWS-FUy0xPp7s9_4-JKMIdgdBRF_jg qDeG8AoCZhTdXvadDIjslJt_PIjo-IAw8jMTyBf9ZkO2zUoM9k6b3rGqAIoTquexo8vGMoM2-m-zQd_3-YXVDA Z29sZGVuIDA mixed-order A (+2T), holds only times 8
holds TSAw9H851P6_dwxuyzDWwOY-pdbOskKQ6GyyZgRidgI xvLUNyn4yfHIL9A1KZBW6pGkitAJT-xRFx1orLBslNc4e1E-tMeQ8QS9Nr2T9rUanQva9GEdKwmn4AiIi1fSDA Z29sZGVuIDI mixed-order A (+4T), equation holds
fails TSAw9H851P6_dwxuyzDWwOY-pdbOskKQ6GyyZgRidgI qzxAQs1a6p4uHxpFV2uXJm-5uEH4ui9AuJeAcZSHPkD3jcodceQXcfepYliwQauKbIHU3ENh_aIhSwk7IfCwDA Z29sZGVuIDA mixed-order A (+4T), holds only times 8
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 knmWoBg6O0NgWgbxX31NPGUrOP0ptBRZfzBcpn8ej9Rxueb1O5mJrfDUGQeX-vpLCB-Xgw0_NCty1Pq4XiUkDg Z29sZGVuIDA mixed-order R (+1T), holds only times 8
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 Q1IpVwn00ewqKyRDSssRfLkfbLpd3oxa3Osnl_1ShAoROiHRbfBag_fUs0ppCVl0pvn41fk3_WuykNJ1xglxDA Z29sZGVuIDA mixed-order R (+2T), holds only times 8
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 fqD6T51bbd2kKjI88ZLzqW26-BrMykB2xjfv06ciFl0WfIpTTHAUPb59Go6NBnl9YuuWIXYAg14NRHL085FRDg Z29sZGVuIDA mixed-order R (+4T), holds only times 8
holds Rf7eqML19ctME29LR_KaMEM33dCHdI3ss9k8-wfGdzg dEoA_anYwfnWXQXq8QZrsq39NqklrgX0xrIUOl8KG5ozgeQpLQ1lPyJKBBZVzMFxO56l26BrAliTaFYWu_JMCQ Z29sZGVuIDE1 mixed-order A and R (1T), equation holds
fails Rf7eqML19ctME29LR_KaMEM33dCHdI3ss9k8-wfGdzg 7dala7EcnI46Epg3DsbbBhGLSJqCNd_ZC2XTJa-2M6LYLqwmqbCDKLE6lDg3M4Drhi-R4L--avZ5JU9jHeKqDA Z29sZGVuIDA mixed-order A and R (1T), holds only times 8
holds TSAw9H851P6_dwxuyzDWwOY-pdbOskKQ6GyyZgRidgI asAlSJI4Cuj79D1nmbXeLAEeArYUpD-XPOfXgyP92Kl5yxgz3_10_EShPVmflmjKuURkuOgGKdfa46yGE2akAg Z29sZGVuIDA mixed-order A and R (4T), equation holds
fails TSAw9H851P6_dwxuyzDWwOY-pdbOskKQ6GyyZgRidgI T-h1WtSSpWuWnOQ_ETa9JPcts1uyfaCnxvYjyfmcil48P63XRDK_3h_QOe84L38-jIYBhSCBqx_V0xRCWgLHBA Z29sZGVuIDI mixed-order A and R (4T), holds only times 8
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEPk_vWNYXaz97ezvEYJwICzPONppTfDLdTjEagojXDg Z29sZGVuIDA small-order R (0T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3ouaaZVojpzYD_nboOgSnYGdB1ao8cnj_Dni98lWIhWCw Z29sZGVuIDE small-order R (1T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIAWGg1-TADO6XIZmyGX6pn1ot0ATa-it9kkHolg5Tc_CA Z29sZGVuIDI small-order R (2T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AVARu-T04iAIRi11pEioM_V93kFYhbPeG9pWbAQUr0ICg Z29sZGVuIDM small-order R (3T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 7P_______________________________________3_k5-zLlsPoAOXPsZcGivqt3LfQPf_bXI9ydg4tGdw6CQ Z29sZGVuIDQ small-order R (4T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IWBs5Xmzx27NXmgiNZcTMhBymwgTKl_R04pFqUaBGJRDQ Z29sZGVuIDU small-order R (5T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABHYOXFG2BbsAKwi_w2ScsdGIjlauVEGlpRs-AS1XioCQ Z29sZGVuIDY small-order R (6T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA_rCv5Ey-KxCMLtorObLF2ODUptr-eoqiNbbd6A-CLw1CA Z29sZGVuIDc small-order R (7T), good key
fails oN_PC4DGKwFAiPORNM8pPxnBWikxTb1vF5NNmfudif0 7v_______________________________________386zaZc86S_ZkAlJeTzTgrNkxFXfhQbK9Ajhe1VX2SlDA Z29sZGVuIDkw non-canonical R (identity as p + 1), good key
fails AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (identity), R (identity), S = 0
fails AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (identity), R (identity), S = 0
fails 7P_______________________________________38 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 2), R (identity), S = 0
fails 7P_______________________________________38 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 2), R (identity), S = 0
fails AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 4, positive), R (identity), S = 0
fails AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 4, positive), R (identity), S = 0
fails AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 4, negative), R (identity), S = 0
fails AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 4, negative), R (identity), S = 0
fails JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 8, first), R (identity), S = 0
fails JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_AU AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 8, first), R (identity), S = 0
fails JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IU AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 8, first negated), R (identity), S = 0
fails JuiVj8KyJ7BFw_SJ8u-Y8NXfrAXTxjM5sTgCiG1T_IU AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 8, first negated), R (identity), S = 0
fails xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 8, second), R (identity), S = 0
fails xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA3o AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 8, second), R (identity), S = 0
fails xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA_o AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 8, second negated), R (identity), S = 0
fails xxdqcD1N2E-6PAt2DRBnDyogU_osOczGTsf9d5KsA_o AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 8, second negated), R (identity), S = 0
fails AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (identity, sign bit set), R (identity), S = 0
fails AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAIA AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (identity, sign bit set), R (identity), S = 0
fails 7P________________________________________8 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 2, sign bit set), R (identity), S = 0
fails 7P________________________________________8 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 2, sign bit set), R (identity), S = 0
fails 7v_______________________________________38 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (identity as p + 1), R (identity), S = 0
fails 7v_______________________________________38 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (identity as p + 1), R (identity), S = 0
fails 7v________________________________________8 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (identity as p + 1, sign bit set), R (identity), S = 0
fails 7v________________________________________8 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (identity as p + 1, sign bit set), R (identity), S = 0
fails 7f_______________________________________38 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 4 as p), R (identity), S = 0
fails 7f_______________________________________38 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 4 as p), R (identity), S = 0
fails 7f________________________________________8 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAw small-order key (order 4 as p, sign bit set), R (identity), S = 0
fails 7f________________________________________8 AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZSAx small-order key (order 4 as p, sign bit set), R (identity), S = 0
holds WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVaBA bWVzc2FnZQ good signature
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEUcY8h1NvAeZQTtH0Hi7FrJT4bLlQOmsQHn1h77lVaFA bWVzc2FnZQ S + 1 L
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEBRYV-7j7T0WqwqyDmhJCAJT4bLlQOmsQHn1h77lVaJA bWVzc2FnZQ S + 2 L
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJGiaFJPci4viprAgU8_ZuvoJT4bLlQOmsQHn1h77lVadA bWVzc2FnZQ S + 7 L
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZQ S = 0
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJHt0_VcGmMSWNac96Le-d4UAAAAAAAAAAAAAAAAAAAAEA bWVzc2FnZQ S = L
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVahA bWVzc2FnZQ top bit of S set
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZQ all-zero signature
fails AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA bWVzc2FnZQ all-zero key and signature
fails AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVaBA bWVzc2FnZQ key not on the curve
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLBEnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVaBA bWVzc2FnZQ sign bit of R flipped
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yC6Q jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVaBA bWVzc2FnZQ sign bit of the key flipped
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVaBA bWVzc2FnZQ R not on the curve
fails WkZ2mNoex9Msy4PkHGW6MEFyQvO8FNuzE6pn691yCyQ jAQuB9fGFs7G_8LDTZl4eiFkmqtLVwli2XnUuefYLJEnnZnEuXiuIb52vNookdJWJT4bLlQOmsQHn1h77lVaBA bWVzc2FnZg other message
`

/** Cases that an engine has to judge alike, objects §3 and `fixtures/crypto`. */
export const goldenVerdicts: readonly GoldenVerdict[] = cases
  .trim()
  .split('\n')
  .map(line => {
    const [verdict, key = '', signature = '', message = '', ...name] = line.split(' ')
    return {
      name: name.join(' '),
      key: fromBase64url(key),
      signature: fromBase64url(signature),
      message: fromBase64url(message),
      holds: verdict === 'holds',
    }
  })
